package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// writeParameters sets parameters in the section of the environment. The values need no quotes
// in TOML. If the section has a form that cannot be changed safely, the file stays as it is and
// the error lists the lines to write.
func (s *stack) writeParameters(values map[string]string) error {
	text, err := os.ReadFile(samconfig)
	if err != nil {
		return err
	}
	changed := withParameters(string(text), s.env.name, values)
	read, err := readEnvironments(changed)
	if err == nil {
		want := maps.Clone(s.env.parameters)
		if want == nil {
			want = map[string]string{}
		}
		maps.Copy(want, values)
		if !maps.Equal(read[s.env.name].parameters, want) {
			err = fmt.Errorf("its form is unknown")
		}
		for name, other := range s.all {
			if err == nil && name != s.env.name && !maps.Equal(other.parameters, read[name].parameters) {
				err = fmt.Errorf("the environment %s would change, too", name)
			}
		}
	}
	if err != nil {
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			lines = append(lines, name+"="+values[name])
		}
		return fmt.Errorf("%s: parameter_overrides of %s was not changed: %w. Write these parameters there and run the command again: %s", samconfig, s.env.section(), err, strings.Join(lines, " "))
	}
	if err := os.WriteFile(samconfig+".new", []byte(changed), 0o600); err != nil {
		return err
	}
	if err := os.Rename(samconfig+".new", samconfig); err != nil {
		return err
	}
	s.all, s.env = read, read[s.env.name]
	return nil
}

// opening is the start of a value of parameter_overrides: a list, or a text in one of the four
// forms of TOML.
var opening = regexp.MustCompile(`(?m)^[ \t]*parameter_overrides[ \t]*=[ \t]*(\[|"""|'''|"|')`)

// withParameters returns the text with the parameters in the section of an environment. Values
// that are there are replaced; others are put before the first one.
func withParameters(text, env string, values map[string]string) string {
	start := regexp.MustCompile(`(?m)^[ \t]*\[` + regexp.QuoteMeta(env) + `\.deploy\.parameters\][^\n]*\n?`).FindStringIndex(text)
	if start == nil {
		return text
	}
	before, section, after := text[:start[1]], text[start[1]:], ""
	if end := regexp.MustCompile(`(?m)^[ \t]*\[[A-Za-z0-9_"'-]+[.\]]`).FindStringIndex(section); end != nil {
		section, after = section[:end[0]], section[end[0]:]
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		there := regexp.MustCompile(`\b` + name + `=(\\?["'])?[A-Za-z0-9_.-]*(\\?["'])?`)
		if there.MatchString(section) {
			section = there.ReplaceAllLiteralString(section, name+"="+values[name])
			continue
		}
		missing = append(missing, name+"="+values[name])
	}
	if len(missing) == 0 {
		return before + section + after
	}
	at := opening.FindStringSubmatchIndex(section)
	if at == nil {
		return before + `parameter_overrides = "` + strings.Join(missing, " ") + "\"\n" + section + after
	}
	insert := strings.Join(missing, " ") + " "
	if section[at[2]:at[3]] == "[" {
		insert = `"` + strings.Join(missing, `", "`) + `", `
	}
	return before + section[:at[3]] + insert + section[at[3]:] + after
}
