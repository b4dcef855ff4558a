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

// recorded has, of each document and each folder of Go whose texts break rules, how many of
// its comments and of its literals do.
const recorded = "testdata/recorded.txt"

// quoting are the folders whose literals are code and words of others.
var quoting = []string{"scripts/verify/docs/english", "scripts/verify/simmutants"}

// TestOurEnglishGetsBetter compares what is found with the numbers that are recorded. They
// may only fall; -update writes those that have.
func TestOurEnglishGetsBetter(t *testing.T) {
	now := map[string][2]int{}
	count := func(room string, comments, literals []text) {
		n := [2]int{now[room][0] + len(check(comments)), now[room][1] + len(check(literals))}
		if n != [2]int{} {
			now[room] = n
		}
	}
	err := folder(root, func(path string) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case isDocument(path):
			texts, err := document(path)
			count(name, texts, nil)
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			read, err := goFile(path)
			room := filepath.Dir(name)
			if slices.Contains(quoting, room) {
				read.literals = nil
			}
			count(room, read.docs, read.literals)
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
	for _, x := range texts {
		count(x.file, []text{x}, nil)
	}
	was := read(t)
	for _, room := range slices.Sorted(maps.Keys(now)) {
		for i, kind := range []string{"documentation", "literals"} {
			if n, most := now[room][i], was[room][i]; n > most {
				t.Errorf("%s: %d violations in its %s, at most %d are recorded: go run ./scripts/verify/docs/english -texts %s", room, n, kind, most, room)
			}
		}
	}
	if *update && !t.Failed() {
		write(t, now)
	} else if !maps.Equal(was, now) && !t.Failed() {
		t.Errorf("there are fewer violations than %s says: go test ./scripts/verify/docs/english -update", recorded)
	}
}

func read(t *testing.T) map[string][2]int {
	t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]int{}
	for line := range strings.Lines(string(text)) {
		var room string
		var n [2]int
		if _, err := fmt.Sscan(line, &room, &n[0], &n[1]); err != nil {
			t.Fatalf("%s: %q: %v", recorded, line, err)
		}
		all[room] = n
	}
	return all
}

func write(t *testing.T, all map[string][2]int) {
	t.Helper()
	var b strings.Builder
	for _, room := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintln(&b, room, all[room][0], all[room][1])
	}
	if err := os.WriteFile(recorded, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
