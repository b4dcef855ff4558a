package main

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratorsRefuseIncompleteSources: a source that a part cannot list in full is an error,
// not a shorter table.
func TestGeneratorsRefuseIncompleteSources(t *testing.T) {
	const metrics = "adapters/outbound/metrics/metrics.go"
	tests := []struct{ name, part, file, text, want string }{
		{"no parameters", "parameters", "template.yaml", "Outputs: {A: {Description: a}}", "template.yaml has no Parameters or no Outputs"},
		{"no outputs", "outputs", "template.yaml", "Parameters: {A: {Description: a}}", "template.yaml has no Parameters or no Outputs"},
		{"a parameter without a description", "parameters", "template.yaml", "Parameters: {A: {Default: a}}\nOutputs: {A: {Description: a}}", "template.yaml: parameter A has no description"},
		{"a parameter with a minimum alone", "parameters", "template.yaml", "Parameters: {A: {Description: a, MinValue: 1}}\nOutputs: {A: {Description: a}}", "template.yaml: parameter A has one limit, want both"},
		{"an output without a description", "outputs", "template.yaml", "Parameters: {A: {Description: a}}\nOutputs: {A: {Value: a}}", "template.yaml: output A has no description"},
		{"no terminations", "terminations", "core/run.go", "package core", "core has no constants of type TerminationType"},
		{"a termination without a comment", "terminations", "core/run.go", "package core\nconst A TerminationType = \"a\"", "constant A has no comment"},
		{"a termination that is computed", "terminations", "core/run.go", "package core\nconst A TerminationType = \"a\" + b // a", "constant A is not a literal"},
		{"no struct of events", "events", "core/event.go", "package core\nconst A EventType = \"a\" // a", "core has no struct Event"},
		{"a field of an unknown event", "events", "core/event.go", "package core\nconst A EventType = \"a\" // a\ntype Event struct {\n\tB int `json:\"b\"` // b: a field\n}", `core/event.go: field B: there is no event "b"`},
		{"an unknown status", "errors", "adapters/internal/protocol/refuse.go", "package protocol\nvar statuses = map[core.Code]int{core.CodeA: http.StatusTeapot}", `adapters/internal/protocol/refuse.go: 1 statuses, unknown: "StatusTeapot"`},
		{"no statuses", "errors", "adapters/internal/protocol/refuse.go", "package protocol", `adapters/internal/protocol/refuse.go: 0 statuses, unknown: ""`},
		{"no metrics", "metrics", metrics, "package metrics", metrics + " names no metric"},
		{"no targets", "targets", "Makefile", "run:\n", "the Makefile has no target with a text after ##"},
		{"an unknown sample", "samples", "events/other.json", "{}", "events/other.json has no text in samples"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{
				"core/error.go": "package core\nconst CodeA Code = \"a\" // a",
				metrics:         "package metrics\nvar a = f(\"reveille_a\", \"A.\")",
				test.file:       test.text,
			} {
				path := filepath.Join(folder, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			text, err := generate(folder, test.part)
			if want := "part " + test.part + ": " + test.want; err == nil || err.Error() != want {
				t.Errorf("%q, %v\nwant %s", text, err, want)
			}
		})
	}
}

// The samples of the repository that are gone have no text either.
func TestASampleIsMissing(t *testing.T) {
	if text, err := sampleTable(t.TempDir()); err == nil {
		t.Errorf("a folder without samples: %q", text)
	}
}

func TestCommentsAreTexts(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package a\nconst (\n\t// A is\n\t// of [B.C].\n\tA Kind = \"a\" // other\n\tB Kind = \"b\" // second\n\tC Other = \"c\"\n)", parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all, err := constants(file, "Kind")
	if err != nil || len(all) != 2 || all[0] != (constant{"A", "a", "A is of `B.C`."}) || all[1] != (constant{"B", "b", "second"}) {
		t.Errorf("%q, %v", all, err)
	}
}
