package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

const root = "../../.."

// files are the files of this repository, tracked or new, by their paths with slashes.
var files = sync.OnceValues(func() ([]string, error) {
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	command.Dir = root
	out, err := command.Output()
	return strings.Fields(string(out)), err
})

// documents are the files of Markdown of this repository, by their paths. Data of tests and
// templates of other projects are none.
func documents(t *testing.T) map[string]markdown.Document {
	t.Helper()
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]markdown.Document{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".md") || strings.Contains(name, "/testdata/") {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil { // else it is deleted
			all[name] = markdown.Parse(text)
		}
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lines are the most lines that documents have, generated blocks apart. Others have 250.
var lines = map[string]int{
	"README.md":                             150,
	"functions/README.md":                   120,
	"functions/guides/models.md":            200,
	"functions/guides/outgoing-requests.md": 120,
	"functions/guides/tools.md":             200,
	"functions/guides/approvals.md":         230,
	"functions/guides/embedding.md":         200,
	"functions/guides/runs.md":              100,
	"functions/guides/usage-and-limits.md":  200,
	"functions/guides/observability.md":     150,
	"functions/kit/local/README.md":         80,
	"core/promises.md":                      120,
	"adapters/README.md":                    150,
	"adapters/protocols/aisdk/README.md":    120,
	"adapters/protocols/agui/README.md":     120,
	"adapters/protocols/mcp/README.md":      120,
	"adapters/protocols/acp/README.md":      120,
	"adapters/protocols/page/README.md":     120,
	"adapters/triggers/rules/README.md":     150,
	"adapters/outbound/webhook/README.md":   150,
	"adapters/stores/dynamo/README.md":      150,
	"infra/identity.md":                     120,
	"events/README.md":                      60,
	"scripts/README.md":                     150,
	".github/CONTRIBUTING.md":               120,
	".github/CHANGELOG.md":                  120,
	".github/SECURITY.md":                   120,
}

func TestDocumentsAreShort(t *testing.T) {
	for name := range documents(t) {
		if n, most := strings.Count(withoutGenerated(read(t, name)), "\n"), mostLines(name); n > most {
			t.Errorf("%s has %d lines, at most %d are allowed: move a part to a document of its own", name, n, most)
		}
	}
	for name := range lines {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}

func mostLines(name string) int {
	switch dir := path.Dir(name); {
	case dir == "functions/tutorial":
		return 100
	case dir == "core/decisions":
		return 60
	case lines[name] > 0:
		return lines[name]
	}
	return 250
}

// withoutGenerated is a document without its generated blocks.
func withoutGenerated(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "<!-- generated:")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "<!-- end generated -->")
	}
}
