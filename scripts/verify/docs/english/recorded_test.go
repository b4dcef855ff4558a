package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../../.."

// quoting are the folders whose literals are code and words of others.
var quoting = []string{"scripts/verify/docs/english", "scripts/verify/simmutants"}

// ours returns the texts of this repository: its documentation, and the literals of Go by
// their folder.
func ours(t *testing.T) (documentation []text, literals map[string][]text) {
	t.Helper()
	literals = map[string][]text{}
	err := folder(root, func(path string) error {
		switch {
		case isDocument(path):
			texts, err := document(path)
			documentation = append(documentation, texts...)
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			read, err := goFile(path)
			documentation = append(documentation, read.docs...)
			room, _ := filepath.Rel(root, filepath.Dir(path))
			if !slices.Contains(quoting, room) {
				literals[room] = append(literals[room], read.literals...)
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := others(root)
	if err != nil {
		t.Fatal(err)
	}
	return append(documentation, texts...), literals
}

// TestDocumentationIsPlainEnglish allows no violation in documents, in comments of packages
// and exported names, in the OpenAPI document, the page, the template and `make help`.
func TestDocumentationIsPlainEnglish(t *testing.T) {
	documentation, _ := ours(t)
	if len(documentation) < 10_000 {
		t.Errorf("%d texts are read, want 10,000 at least: are they looked for where they are?", len(documentation))
	}
	for _, h := range check(documentation) {
		t.Errorf("%s:%d: %q: write %s", strings.TrimPrefix(h.file, root+"/"), h.line, h.found, h.instead)
	}
}

// recorded has, of each folder of Go whose literals break rules, how many do. Literals that
// models read are among them: they are behaviour, and change with the golden files.
const recorded = "testdata/recorded.txt"

// TestLiteralsGetBetter compares errors, logs and help with the numbers that are recorded.
// They may only fall; -update writes those that have.
func TestLiteralsGetBetter(t *testing.T) {
	_, literals := ours(t)
	now, was := map[string]int{}, readRecorded(t)
	for room, texts := range literals {
		hits := check(texts)
		if len(hits) == 0 {
			continue
		}
		now[room] = len(hits)
		if len(hits) > was[room] {
			t.Errorf("%s: %d violations in its literals, at most %d are recorded: go run ./scripts/verify/docs/english -texts %s", room, len(hits), was[room], room)
		}
	}
	switch {
	case t.Failed() || maps.Equal(was, now):
	case *update:
		writeRecorded(t, now)
	default:
		t.Errorf("there are fewer violations than %s says: go test ./scripts/verify/docs/english -update", recorded)
	}
}

func readRecorded(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var room string
		var n int
		if _, err := fmt.Sscan(line, &room, &n); err != nil {
			t.Fatalf("%s: %q: %v", recorded, line, err)
		}
		all[room] = n
	}
	return all
}

func writeRecorded(t *testing.T, all map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, room := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintln(&b, room, all[room])
	}
	if err := os.WriteFile(recorded, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
