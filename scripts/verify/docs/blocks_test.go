package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// followed are the parts of the tutorial whose steps TestTheTutorial follows. Part 4 needs AWS.
var followed = []string{"1-first-answer", "2-own-tool", "3-approval", "5-crash-test"}

// TestBlocksAreChecked checks each code block by its kind, which is what follows the fence.
// `sh run` is executed by TestCommandsRun, `sh step` and its companions by TestTheTutorial, `go module` by package
// house, and blocks of clients by make test-clients.
func TestBlocksAreChecked(t *testing.T) {
	for name, document := range documents(t) {
		for i, b := range document.Blocks {
			if err := checkBlock(name, document.Blocks[:i], b); err != nil {
				t.Errorf("%s:%d: %v", name, b.Line, err)
			}
		}
	}
}

// checkBlock checks a block of a document; before are the blocks before it.
func checkBlock(name string, before []markdown.Block, b markdown.Block) error {
	kind, parameter, _ := strings.Cut(b.Info, "=")
	if strings.TrimSpace(b.Text) == "" {
		return errors.New("the block is empty")
	}
	switch kind {
	case "go file":
		return isPieceOf(b.Text, parameter)
	case "json reader", "yaml reader":
		return isReadBy(b.Text, parameter)
	case "sh check":
		return namesWhatExists(b.Text)
	case "sh run":
		return hasCommandsAlone(b.Text)
	case "sh step", "sh fails", "sh host", "go append", "diff edit", "text page":
		part, ok := strings.CutPrefix(strings.TrimSuffix(name, path.Ext(name)), "functions/tutorial/")
		if !ok || !slices.Contains(followed, part) {
			return fmt.Errorf("nothing runs the block %q, only the tutorial can have it", b.Info)
		}
		return namesWhatExists(b.Text)
	case "text output":
		return errors.Join(followsCommand(before), namesWhatExists(b.Text))
	case "tsx client", "js client", "go module":
		return isReadByATest(name, b.Info)
	case "text":
		return nil
	}
	return fmt.Errorf("%q is no kind of block; see scripts/README.md", b.Info)
}

// isPieceOf returns an error unless a block is whole lines of a file, indentation aside.
func isPieceOf(block, file string) error {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	for _, indent := range []string{"", "\t", "\t\t", "\t\t\t"} {
		if strings.Contains("\n"+string(source), "\n"+indented(block, indent)) {
			return nil
		}
	}
	return fmt.Errorf("%s does not have this block:\n%s", file, block)
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

// hasCommandsAlone returns an error unless each line of a block starts or continues a use of
// curl that TestCommandsRun understands.
func hasCommandsAlone(block string) error {
	lines := strings.Split(strings.TrimSpace(continued.ReplaceAllString(block, " ")), "\n")
	if len(commands(block)) != len(lines) {
		return errors.New("sh run takes uses of curl alone, one below the other")
	}
	return nil
}

// followsCommand returns an error unless the last block is commands, to whose response an
// output is compared, or a further output of them.
func followsCommand(before []markdown.Block) error {
	if len(before) > 0 {
		switch before[len(before)-1].Info {
		case "sh run", "sh step", "sh fails", "sh host", "text output":
			return nil
		}
	}
	return errors.New("an output follows commands that run, without another block between them")
}

var (
	makes     = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	variables = regexp.MustCompile(`\bREVEILLE_[A-Z_]+`)
	programs  = regexp.MustCompile(`\./(?:scripts|functions)/[a-z/.-]+`)
)

// namesWhatExists returns an error for make targets, settings and programs of a block that do
// not exist.
func namesWhatExists(block string) error {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	var all []error
	for _, m := range makes.FindAllStringSubmatch(block, -1) {
		if !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
			all = append(all, fmt.Errorf("there is no make %s", m[1]))
		}
	}
	for _, v := range variables.FindAllString(block, -1) {
		if !isSetting(v) {
			all = append(all, fmt.Errorf("there is no setting %s", v))
		}
	}
	for _, p := range programs.FindAllString(block, -1) {
		if _, err := os.Stat(filepath.Join(root, p)); err != nil {
			all = append(all, fmt.Errorf("there is no %s", p))
		}
	}
	return errors.Join(all...)
}

func isSetting(name string) bool {
	return slices.ContainsFunc(settings.Variables(), func(v settings.Variable) bool { return v.Name == name })
}

// isReadByATest returns an error if no test of Go names a document: its block would run
// nowhere.
func isReadByATest(name, info string) error {
	all, err := files()
	if err != nil {
		return err
	}
	for _, file := range all {
		if strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "scripts/verify/docs/") {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err == nil && strings.Contains(string(text), name) { // else it is deleted
				return nil
			}
		}
	}
	return fmt.Errorf("no test names this document, so nothing runs the block %q", info)
}

// TestWrongBlocksAreRefused has a wrong block of each kind.
func TestWrongBlocksAreRefused(t *testing.T) {
	const part = "functions/tutorial/1-first-answer.md"
	tests := []struct {
		name, document, info, text string
		before                     string // info of the block before
		want                       string
	}{
		{"no kind", part, "", "make run\n", "", `"" is no kind of block; see scripts/README.md`},
		{"another kind", part, "sh", "make run\n", "", `"sh" is no kind of block; see scripts/README.md`},
		{"empty", part, "go file=core/doc.go", "\n", "", "the block is empty"},
		{"whole lines", "README.md", "go file=scripts/verify/docs/doc.go", "package main\n\n//go:generate go run .\n", "", ""},
		{"a part of a line", "README.md", "go file=scripts/verify/docs/doc.go", "main\n", "", "scripts/verify/docs/doc.go does not have this block:\nmain\n"},
		{"indented lines", "README.md", "go file=scripts/verify/docs/main.go", "root, err := moduleRoot()\nif err == nil {\n\terr = writeAll(root)\n}\n", "", ""},
		{"lines that are indented in the block, too", "README.md", "go file=scripts/verify/docs/english/main.go", "\t\t})\n\t\tif err != nil {\n", "", ""},
		{"no file", "README.md", "go file=core/none.go", "package main\n", "", "open " + root + "/core/none.go: no such file or directory"},
		{"no reader", "README.md", "json reader=none", "{}\n", "", `there is no reader "none": add it to readers_test.go`},
		{"not JSON", "README.md", "json reader=json", "{\n", "", "json: unexpected end of JSON input"},
		{"an unknown field of a spec", "README.md", "yaml reader=spec", "id: a\nmodels: m\n", "", `spec: block.yaml:2:1: unknown field "models", did you mean "model"?`},
		{"unknown fields of triggers", "README.md", "json reader=triggers", `{"trigger": []}`, "", `triggers: REVEILLE_TRIGGERS:1:2: unknown field "trigger" in file, did you mean "triggers"?`},
		{"an unknown field of a catalog", "README.md", "json reader=catalog", `{"model": []}`, "", `catalog: model catalog: unknown field "model" in file, did you mean "models"?`},
		{"an unknown field of limits", "README.md", "json reader=limits", `{"tenant": {}}`, "", `limits: limits: unknown field "tenant", did you mean "tenants"?`},
		{"what exists", "README.md", "sh check", "REVEILLE_LEASE=1s make run # ./scripts/user/new ./functions/app\n", "", ""},
		{"what does not exist", "README.md", "sh check", "REVEILLE_LEAS=1s make walk\n./scripts/user/none\n", "", "there is no make walk\nthere is no setting REVEILLE_LEAS\nthere is no ./scripts/user/none"},
		{"curl", "README.md", "sh run", "curl localhost:3000/a \\\n  -X POST\ncurl localhost:3000/b\n", "", ""},
		{"another command after curl", "README.md", "sh run", "curl localhost:3000/a\nmake run\n", "", "sh run takes uses of curl alone, one below the other"},
		{"another command before curl", "README.md", "sh run", "make run\ncurl localhost:3000/a\n", "", "sh run takes uses of curl alone, one below the other"},
		{"an unknown option", "README.md", "sh run", "curl --fail localhost:3000/a\n", "", "sh run takes uses of curl alone, one below the other"},
		{"a pipe", "README.md", "sh run", "curl localhost:3000/a | jq .\n", "", "sh run takes uses of curl alone, one below the other"},
		{"a step", part, "sh step", "make run\n", "", ""},
		{"a step elsewhere", "functions/guides/models.md", "sh step", "make run\n", "", `nothing runs the block "sh step", only the tutorial can have it`},
		{"a step on AWS", "functions/tutorial/4-deploy.md", "diff edit=go.mod", "-a\n", "", `nothing runs the block "diff edit=go.mod", only the tutorial can have it`},
		{"an output", "README.md", "text output", "a\n", "sh run", ""},
		{"an output of nothing", "README.md", "text output", "a\n", "", "an output follows commands that run, without another block between them"},
		{"an output of commands that do not run", "README.md", "text output", "a\n", "sh check", "an output follows commands that run, without another block between them"},
		{"a client that a test reads", "functions/guides/embedding.md", "go module", "package main\n", "", ""},
		{"a client that no test reads", "core/decisions/none.md", "js client", "f()\n", "", `no test names this document, so nothing runs the block "js client"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before []markdown.Block
			if test.before != "" {
				before = []markdown.Block{{Info: test.before}}
			}
			got := ""
			if err := checkBlock(test.document, before, markdown.Block{Info: test.info, Text: test.text}); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestEmptyLinesAreNotIndented(t *testing.T) {
	if got := indented("a\n\nb\n", "\t"); got != "\ta\n\n\tb\n" {
		t.Errorf("%q", got)
	}
}
