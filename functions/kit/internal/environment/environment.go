// Package environment reads the file of environment variables of the user's tools, and sets
// those that the process does not have. It has no dependency that a function does not link
// anyway, since it runs at each start.
package environment

import (
	"fmt"
	"os"
	"strings"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// MostBytes is the maximum size of the file.
const MostBytes = 64 << 10

// local is the name of the section for the local host, and of its stack in values.
const local = "local"

// Load reads the file of the settings, if they name one, and sets its variables. A variable
// of the process that is not empty keeps its value. If the file has a mistake in any section,
// Load sets nothing. The error has the file, the line and the rule.
func Load(s settings.Settings) error {
	if s.Environment == "" {
		return nil
	}
	text, err := os.ReadFile(s.Environment)
	if err != nil {
		return fmt.Errorf("environment variable REVEILLE_ENVIRONMENT: %w", err)
	}
	if len(text) > MostBytes {
		return fmt.Errorf("%s: the file has %d bytes, at most %d are allowed", s.Environment, len(text), MostBytes)
	}
	lines, err := parse(s.Environment, string(text))
	if err != nil {
		return err
	}
	values, err := choose(s.Environment, lines, placeOf(s.Stack, os.Getenv("AWS_REGION")), os.Getenv)
	if err != nil {
		return err
	}
	for name, value := range values {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Environment, name, err)
		}
	}
	return nil
}

// place is where the process runs. Values can name it.
type place struct{ stack, region, account string }

// placeOf takes the place from the ARN of a stack, which has all of it, or from its name.
func placeOf(stack, region string) place {
	if stack == "" {
		return place{stack: local, region: region}
	}
	if part := strings.SplitN(stack, ":", 6); len(part) == 6 {
		return place{stack: strings.Split(part[5], "/")[1], region: part[3], account: part[4]} // the settings have checked its form
	}
	return place{stack: stack, region: region}
}

// choose returns the values that are valid in a place: those before the first section, and
// those of the section of the stack, which have priority. It omits variables that the process
// has.
func choose(file string, lines []line, at place, getenv func(string) string) (map[string]string, error) {
	chosen := map[string]line{}
	for _, section := range []string{"", at.stack} {
		for _, l := range lines {
			if l.section == section && getenv(l.name) == "" {
				chosen[l.name] = l
			}
		}
	}
	values := make(map[string]string, len(chosen))
	for name, l := range chosen {
		value, err := at.fill(l.value)
		if err != nil {
			return nil, l.wrong(file, "value of %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

// fill replaces the placeholders of a value, whose names parse has checked.
func (p place) fill(value string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(value, "${")
		if !found {
			out.WriteString(value)
			return out.String(), nil
		}
		if text, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(text + "${")
			value = rest
			continue
		}
		out.WriteString(before)
		name, after, _ := strings.Cut(rest, "}")
		known := map[string]string{"STACK": p.stack, "REGION": p.region, "ACCOUNT": p.account}[name]
		if known == "" {
			return "", fmt.Errorf("${%s} is unknown in this process: set the variable in the section [%s] or in the environment, or set REVEILLE_STACK to the ARN of a stack", name, p.stack)
		}
		out.WriteString(known)
		value = after
	}
}
