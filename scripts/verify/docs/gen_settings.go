package main

import (
	"strings"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// settingTables lists the environment variables, with a table for each group.
func settingTables(string) (string, error) {
	var b strings.Builder
	group, rows := "", [][]string(nil)
	flush := func() {
		if group == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("### " + group + "\n\n" + table([]string{"Variable", "Default", "Meaning"}, rows))
		rows = nil
	}
	for _, v := range settings.Variables() {
		if v.Group != group {
			flush()
			group = v.Group
		}
		preset := v.Unset
		if preset == "" {
			preset = "none"
		}
		rows = append(rows, []string{code(v.Name, ""), code(v.Default, preset), v.Meaning})
	}
	flush()
	return b.String(), nil
}
