package environment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// line is a variable of the file.
type line struct {
	number      int    // from 1
	section     string // the name of a stack; empty: before the first section
	name, value string
}

// wrong returns an error that names the line.
func (l line) wrong(file, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %w", file, l.number, fmt.Errorf(format, arguments...))
}

// parse reads all sections of a file.
func parse(file, text string) (lines []line, err error) {
	seen := map[string]int{} // the line of each section and of each variable of a section
	l := line{}
	for raw := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		l.number++
		raw = strings.TrimSpace(raw)
		if raw == "" || raw[0] == '#' {
			continue
		}
		key := ""
		if raw[0] == '[' {
			if l.section, err = section(raw); err != nil {
				return nil, l.wrong(file, "%w", err)
			}
			key = raw
		} else {
			if l.name, l.value, err = variable(raw); err != nil {
				return nil, l.wrong(file, "%w", err)
			}
			lines = append(lines, l)
			key = l.section + "=" + l.name
		}
		if first := seen[key]; first > 0 {
			return nil, l.wrong(file, "%s is already in line %d: keep one of the two", strings.TrimPrefix(strings.TrimPrefix(key, l.section), "="), first)
		}
		seen[key] = l.number
	}
	return lines, nil
}

// section reads the line that starts a section.
func section(raw string) (string, error) {
	name, closed := strings.CutSuffix(raw[1:], "]")
	if !closed || !isStack(name) {
		return "", fmt.Errorf("section %s: want [STACK], the name of a stack in brackets, or [%s] for the local host", raw, local)
	}
	return name, nil
}

// isStack reports whether a text can be the name of a stack: letters, digits and hyphens, a
// letter first.
func isStack(name string) bool {
	for i, r := range name {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}

// variable reads a line with a variable.
func variable(raw string) (name, value string, err error) {
	name, value, found := strings.Cut(raw, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found {
		return "", "", fmt.Errorf("%q: want NAME=VALUE, [STACK] or a comment that starts with #", raw)
	}
	if err := checkName(name); err != nil {
		return "", "", err
	}
	if strings.HasPrefix(value, `"`) {
		if value, err = strconv.Unquote(value); err != nil {
			return "", "", fmt.Errorf(`value of %s: want text in double quotes up to the end of the line, in which \" is a quote, \\ a backslash and \n a line end`, name)
		}
	} else if strings.Contains(value, " #") || strings.Contains(value, "\t#") {
		return "", "", fmt.Errorf("value of %s: a comment needs a separate line: move it, or put the value into double quotes if # belongs to it", name)
	}
	if strings.Contains(value, "\x00") {
		return "", "", fmt.Errorf("value of %s: the character NUL is not allowed", name)
	}
	return name, value, checkPlaceholders(name, value)
}

// early are variables that the runtime of Go reads before the file is read.
var early = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"}

func checkName(name string) error {
	for i, r := range name {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			name = ""
			break
		}
	}
	switch {
	case name == "":
		return fmt.Errorf("want NAME=VALUE, with a name of letters, digits and underscores that does not start with a digit")
	case strings.HasPrefix(name, "REVEILLE_") || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "LAMBDA_") || name == "_HANDLER":
		return fmt.Errorf("name %s: names that start with REVEILLE_, AWS_ or LAMBDA_ are not allowed: set parameters of the deployment, or the environment of the process", name)
	case slices.Contains(early, name):
		return fmt.Errorf("name %s: the runtime of Go reads this variable before it reads the file: set it in the environment of the process", name)
	case ofProvider(name):
		return fmt.Errorf("name %s: keys and addresses of providers do not belong here: set the parameters ModelKeySecret and ModelBaseUrl, or the environment of the process", name)
	}
	return nil
}

// ofProvider reports whether a variable has the key or the address of a provider.
func ofProvider(name string) bool {
	if !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_BASE_URL") {
		return false // the list is made for few names: each start asks for all
	}
	return slices.ContainsFunc(settings.Providers(), func(p settings.Provider) bool { return name == p.KeyVariable || name == p.URLVariable })
}

// checkPlaceholders refuses unknown placeholders, also in sections of other stacks.
func checkPlaceholders(name, value string) error {
	for {
		before, rest, found := strings.Cut(value, "${")
		if !found {
			return nil
		}
		if strings.HasSuffix(before, "$") {
			value = rest
			continue
		}
		placeholder, after, closed := strings.Cut(rest, "}")
		if !closed || !slices.Contains([]string{"STACK", "REGION", "ACCOUNT"}, placeholder) {
			return fmt.Errorf("value of %s: after ${ want STACK}, REGION} or ACCOUNT}: write $${ if ${ belongs to the value", name)
		}
		value = after
	}
}
