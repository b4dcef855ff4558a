package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// targetTables lists the targets of the Makefile, by group, as `make help` prints them.
func targetTables(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return "", err
	}
	return targets(string(text))
}

var target = regexp.MustCompile(`^([a-z][a-z-]*):.*## (.+)$`)

// targets reads lines "##@ GROUP" and "TARGET: ... ## TEXT".
func targets(makefile string) (string, error) {
	var b strings.Builder
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			b.WriteString(table([]string{"Target", "Purpose"}, rows) + "\n")
		}
		rows = nil
	}
	for line := range strings.Lines(makefile) {
		line = strings.TrimSpace(line)
		if group, ok := strings.CutPrefix(line, "##@ "); ok {
			flush()
			b.WriteString("### " + group + "\n\n")
		}
		if m := target.FindStringSubmatch(line); m != nil {
			rows = append(rows, []string{code("make "+m[1], ""), sentence(m[2])})
		}
	}
	flush()
	if b.Len() == 0 {
		return "", fmt.Errorf("the Makefile has no target with a text after ##")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
