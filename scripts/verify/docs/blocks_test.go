package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// TestBlocksAreChecked checks each code block by its kind, which is what follows the fence.
// `sh run` is executed by
// TestCommandsRun, `sh step` and its companions by TestTheTutorial, `go module` by package
// house, and blocks of clients by make test-clients.
func TestBlocksAreChecked(t *testing.T) {
	for name, document := range documents(t) {
		for _, b := range document.Blocks {
			kind, parameter, _ := strings.Cut(b.Info, "=")
			switch kind {
			case "go file":
				isPieceOf(t, name, b, parameter)
			case "json reader", "yaml reader":
				isReadBy(t, name, b, parameter)
			case "sh check":
				namesWhatExists(t, name, b)
			case "sh run":
				if len(commands(b.Text)) != strings.Count("\n"+b.Text, "\ncurl ") || !strings.HasPrefix(b.Text, "curl ") {
					t.Errorf("%s:%d: sh run takes uses of curl alone, one below the other", name, b.Line)
				}
			case "sh step", "sh fails", "sh host", "go append", "diff edit", "text output":
				namesWhatExists(t, name, b)
			case "tsx client", "js client", "go module":
				isReadByATest(t, name, b)
			case "text":
			default:
				t.Errorf("%s:%d: %q is no kind of block; see %s", name, b.Line, b.Info, "scripts/README.md")
			}
		}
	}
}

// isPieceOf reports a block that is not a part of a file, indentation aside.
func isPieceOf(t *testing.T, name string, b markdown.Block, path string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Errorf("%s:%d: %v", name, b.Line, err)
		return
	}
	for _, indent := range []string{"", "\t", "\t\t", "\t\t\t"} {
		if strings.Contains(string(source), indented(b.Text, indent)) {
			return
		}
	}
	t.Errorf("%s:%d: %s does not have this block:\n%s", name, b.Line, path, b.Text)
}

func indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

var (
	makes     = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	variables = regexp.MustCompile(`\bREVEILLE_[A-Z_]+`)
	programs  = regexp.MustCompile(`\./(?:scripts|functions)/[a-z/.-]+`)
)

// namesWhatExists reports make targets, settings and programs of a block that do not exist.
func namesWhatExists(t *testing.T, name string, b markdown.Block) {
	t.Helper()
	makefile := "\n" + read(t, "Makefile")
	for _, m := range makes.FindAllStringSubmatch(b.Text, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("%s:%d: there is no make %s", name, b.Line, m[1])
		}
	}
	for _, v := range variables.FindAllString(b.Text, -1) {
		if !slices.ContainsFunc(settings.Variables(), func(known settings.Variable) bool { return known.Name == v }) {
			t.Errorf("%s:%d: there is no setting %s", name, b.Line, v)
		}
	}
	for _, p := range programs.FindAllString(b.Text, -1) {
		if _, err := os.Stat(filepath.Join(root, p)); err != nil {
			t.Errorf("%s:%d: there is no %s", name, b.Line, p)
		}
	}
}

// isReadByATest reports a document that no test of Go names: its block would run nowhere.
func isReadByATest(t *testing.T, name string, b markdown.Block) {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "scripts/verify/docs/") {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err == nil && strings.Contains(string(text), name) {
				return
			}
		}
	}
	t.Errorf("%s:%d: no test names this document, so nothing runs the block %q", name, b.Line, b.Info)
}
