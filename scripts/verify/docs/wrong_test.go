package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// parsed are documents with the given texts.
func parsed(texts map[string]string) map[string]markdown.Document {
	all := map[string]markdown.Document{}
	for name, text := range texts {
		all[name] = markdown.Parse([]byte(text))
	}
	return all
}

func TestBrokenLinksAreFound(t *testing.T) {
	all := parsed(map[string]string{
		"README.md":       "# A\n\n[a](core) [b](core#words) [c](core/README.md#b) [d](#a) [e](https://a.example/none) [f](mailto:a@a.example)\n",
		"core/README.md":  "# B\n\n[a](../README.md#a) [b](none.md)\n\n[c](../README.md#none) [d](#none)\n",
		"core/code.go.md": "[a](run.go#L10)\n",
	})
	known := map[string]bool{"README.md": true, "core": true, "core/README.md": true, "core/run.go": true}
	want := []string{
		`README.md:3: core/README.md has no heading "words"; it has ["b"]`,
		`core/README.md:3: the link "none.md" leads to nothing`,
		`core/README.md:5: README.md has no heading "none"; it has ["a"]`,
		`core/README.md:5: core/README.md has no heading "none"; it has ["b"]`,
	}
	if diff := cmp.Diff(want, brokenLinks(all, func(name string) bool { return known[name] })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"core": true, "core/doc.go": true, ".": true, "core/none.go": false, "cor": false, ".git": false} {
		if exists(t, name) != want {
			t.Errorf("%s exists: %t", name, !want)
		}
	}
}

func TestDistantDocumentsAreFound(t *testing.T) {
	all := parsed(map[string]string{
		"README.md": "# A\n\n[b](b.md)\n", "b.md": "# B\n\n[c](c)\n", "c/README.md": "# C\n\n[d](../d.md)\n", "d.md": "# D\n\n[b](b.md)\n", "e.md": "# E\n",
	})
	want := []string{"d.md is 3 links from README.md, at most 2 are allowed", "e.md cannot be reached from README.md"}
	if diff := cmp.Diff(want, distant(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASectionEndsAtTheNextHeadingOfItsLevel(t *testing.T) {
	const text = "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour\n"
	d := markdown.Parse([]byte(text))
	for anchor, want := range map[string]string{"b": "\ntwo\n\n### C\n\nthree\n\n", "c": "\nthree\n\n", "d": "\nfour\n"} {
		if got, err := section(d, text, anchor); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", anchor, got, err, want)
		}
	}
	if _, err := section(d, text, "none"); err == nil {
		t.Error("a section that does not exist is found")
	}
}

func TestUnknownNamesAreFound(t *testing.T) {
	const text = "`core/doc.go` `core/none.go` REVEILLE_LEASE REVEILLE_LEAS REVEILLE_* `make run` `make walk FAST=1`\n"
	want := []string{"there is no core/none.go", "there is no setting REVEILLE_LEAS", "there is no make walk"}
	if diff := cmp.Diff(want, unknownNames(text, "run: a\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGeneratedLinesDoNotCount(t *testing.T) {
	if got := withoutGenerated("a\n<!-- generated: x -->\nb\n<!-- end generated -->\nc\n"); strings.Contains(got, "b") || !strings.Contains(got, "c\n") {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]int{"README.md": 150, "functions/tutorial/9-other.md": 100, "core/decisions/9999-other.md": 60, "other.md": 250} {
		if got := mostLines(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// The command writes documents, those of .github too, and leaves others alone.
func TestDocumentsAreWritten(t *testing.T) {
	generators["test"] = func(string) (string, error) { return "| new |\n", nil }
	defer delete(generators, "test")
	const text, filled = "<!-- generated: test -->\n<!-- end generated -->\n", "<!-- generated: test -->\n| new |\n<!-- end generated -->\n"
	folder := t.TempDir()
	wants := map[string]string{
		"a.md": filled, ".github/b.md": filled, "testdata/c.md": text, ".hidden/d.md": text, "node_modules/e.md": text, "f.txt": text,
	}
	for name := range wants {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeAll(folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range wants {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
