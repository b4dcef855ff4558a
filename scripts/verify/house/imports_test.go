package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/reveille-run/reveille"

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Export       string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// room is the package's folder in the house, such as "core/internal/thread".
func (p pkg) room() string { return room(p.ImportPath) }

func room(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

func list(t *testing.T, arguments ...string) []pkg {
	t.Helper()
	c := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,Imports,TestImports,XTestImports,Deps,GoFiles,TestGoFiles,XTestGoFiles"}, arguments...)...)
	c.Dir = root(t)
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// floors from the top of the house to its ground: each may import itself and
// those after it.
var floors = []string{"scripts", "functions", "adapters", "core"}

func floor(room string) int {
	first, _, _ := strings.Cut(room, "/")
	return slices.Index(floors, first)
}

func TestImportsGoDownOnly(t *testing.T) {
	for _, p := range list(t, "./...") {
		from := floor(p.room())
		if from < 0 {
			t.Errorf("%s is in no room of the house", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if to := floor(room(path)); strings.HasPrefix(path, module) && to < from {
				t.Errorf("%s imports %s, which is above it", p.room(), room(path))
			}
		}
	}
}

// shared are the adapters that other adapters may use.
var shared = []string{"adapters/identity/caller", "adapters/internal/awsapi", "adapters/internal/caller", "adapters/internal/egress", "adapters/internal/protocol", "adapters/internal/requestlog", "adapters/aws/env", "adapters/models/internal/wire", "adapters/identity/signature", "adapters/internal/incoming", "adapters/internal/newest"}

// adapter returns the folder of the adapter that a package belongs to: one below its group.
func adapter(room string) string {
	names := strings.Split(room, "/")
	if slices.Contains(groups["adapters"], names[1]) {
		return strings.Join(names[:3], "/")
	}
	return strings.Join(names[:2], "/")
}

func TestAdaptersDoNotImportEachOther(t *testing.T) {
	for _, p := range list(t, "./adapters/...") {
		own := adapter(p.room())
		for _, path := range p.Imports {
			other := room(path)
			if strings.HasPrefix(other, "adapters/") && other != own && !strings.HasPrefix(other, own+"/") && !slices.Contains(shared, other) {
				t.Errorf("%s imports %s", p.room(), other)
			}
		}
	}
}

// order is the core's, from the vocabulary down: a package imports only those
// before it, and of its own folder.
var order = []string{
	"core/internal/wire",
	"core",
	"core/internal/position",
	"core/strict",
	"core/internal/field",
	"core/env",
	"core/internal/point",
	"core/internal/stateerror",
	"core/state",
	"core/secret",
	"core/internal/pattern",
	"core/internal/schema",
	"core/internal/show",
	"core/internal/toolcall",
	"core/tool",
	"core/internal/toolrun",
	"core/internal/cutturn",
	"core/model",
	"core/internal/breaker",
	"core/internal/registered",
	"core/plugin",
	"core/internal/engine",
	"core/internal/toolname",
	"core/internal/finalanswer",
	"core/internal/stop",
	"core/agent",
	"core/internal/registry",
	"core/internal/pins",
	"core/internal/feed",
	"core/internal/thread",
	"core/internal/recordname",
	"core/store",
	"core/internal/threadlog",
	"core/internal/calendar",
	"core/account",
	"core/internal/accounting",
	"core/internal/window",
	"core/internal/sent",
	"core/internal/run",
	"core/mailbox",
	"core/doctor",
	"core/plugins",
	"core/host",
	"core/internal/typed",
	"core/internal/sim",
	"core/sim",
	"core/reveille",
}

func rank(t *testing.T, room string) int {
	t.Helper()
	if room == "core" {
		return slices.Index(order, room)
	}
	i := slices.IndexFunc(order, func(o string) bool { return o != "core" && (room == o || strings.HasPrefix(room, o+"/")) })
	if i < 0 {
		t.Errorf("%s has no place in the order of the core", room)
	}
	return i
}

func TestCoreKeepsItsOrder(t *testing.T) {
	for _, p := range list(t, "./core/...") {
		for _, path := range p.Imports {
			if strings.HasPrefix(path, module) && rank(t, room(path)) > rank(t, p.room()) {
				t.Errorf("%s imports %s, which comes after it", p.room(), room(path))
			}
		}
		if p.room() == "core/mailbox" && slices.Contains(p.Imports, module+"/core/internal/run") {
			t.Error("core/mailbox imports core/internal/run")
		}
	}
}

// TestReveilleIsForPrograms: what programs import stands above the core. Adapters know the
// packages that they implement, and no more.
func TestReveilleIsForPrograms(t *testing.T) {
	const reveille = module + "/core/reveille"
	for _, p := range list(t, "./core/...", "./adapters/...") {
		if slices.Contains(p.Imports, reveille) && !strings.HasPrefix(p.ImportPath, reveille) {
			t.Errorf("%s imports core/reveille, which is for programs", p.room())
		}
	}
}

func TestCoreTouchesNothingOutside(t *testing.T) {
	allowed := []string{"github.com/google/jsonschema-go/"}
	exceptions := map[string]string{yamlParser: specfile, "golang.org/x/text/unicode/norm": "core/plugins/permission"}
	suites := []string{"core/store/storetest", "core/host/hosttest", "core/model/modeltest"} // linked by tests alone: may use test libraries
	for _, p := range list(t, "./core/...") {
		for _, path := range p.Imports {
			first, _, _ := strings.Cut(path, "/")
			third := strings.Contains(first, ".") && !strings.HasPrefix(path, module) && !slices.Contains(suites, p.room())
			if third && exceptions[path] != p.room() && !slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(path, a) }) {
				t.Errorf("%s imports %s", p.room(), path)
			}
			if p.room() == "core/internal/sim/simtest" && (path == "os" || path == "os/exec") {
				continue // it starts the test's program again: linked by tests alone
			}
			if path == "net/http" || path == "database/sql" || path == "os" || path == "os/exec" || path == "net" {
				t.Errorf("%s imports %s", p.room(), path)
			}
		}
	}
}

// yamlParser is what only programs that load files need: specs, and templates of a deployment.
const (
	yamlParser = "go.yaml.in/yaml/v3"
	specfile   = "core/agent/specfile"
)

func TestOnlySpecFilesAreYAML(t *testing.T) {
	for _, p := range list(t, "./...") {
		templates := p.room() == "scripts/user/stack" || strings.HasPrefix(p.room(), "scripts/verify/")
		if slices.Contains(p.Imports, yamlParser) && p.room() != specfile && !templates {
			t.Errorf("%s imports %s, which %s is for", p.room(), yamlParser, specfile)
		}
		if strings.HasPrefix(p.room(), "core/") && p.room() != specfile && slices.Contains(p.Deps, yamlParser) {
			t.Errorf("%s links %s", p.room(), yamlParser)
		}
	}
}

// What is for tests has a room of its own, named ...test, and no program links it.
func TestOnlyTestsImportTestSupport(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, path := range p.Imports {
			if strings.HasPrefix(path, module) && strings.HasSuffix(path, "test") && !strings.HasSuffix(p.ImportPath, "test") {
				t.Errorf("%s imports %s, which is for tests", p.room(), room(path))
			}
		}
	}
}

// templates keeps the linker from leaving out methods that nobody calls: 5 MB of a
// function.
const templates = "text/template"

func TestWhatEachFunctionLinks(t *testing.T) {
	const sdk = "github.com/aws/aws-sdk-go-v2"
	const acp = "github.com/coder/acp-go-sdk"
	const mcpSDK = "github.com/modelcontextprotocol/go-sdk" // 1.6 MB that only those who serve it carry
	const prometheus = "github.com/prometheus"              // of the local host alone
	app := module + "/functions/app"
	tests := []struct {
		target string   // packages, separated by spaces
		never  []string // packages, and those below them
	}{
		{"./functions/app", []string{module + "/adapters"}}, // which may embed files of agents
		// A program of one's own, with agents as data.
		{"./core/host ./core/agent/specfile ./adapters/models/openai", []string{sdk, module + "/adapters/models/anthropic", module + "/adapters/models/gemini", module + "/adapters/stores", module + "/functions", prometheus, mcpSDK}},
		{"./core/host ./adapters/models/openai ./adapters/models/anthropic ./adapters/models/gemini", []string{sdk, yamlParser, module + "/adapters/stores", module + "/functions"}},
		{"./functions/kit/demo", []string{module + "/core/store", module + "/adapters", app, yamlParser}},
		{"./functions/kit/serve", []string{app, acp, module + "/adapters/protocols/httpapi", module + "/adapters/protocols/aisdk", module + "/adapters/stores/bolt", yamlParser, module + "/adapters/protocols/mcp", mcpSDK}},
		{"./functions/kit/serve/front ./functions/kit/serve/triggers ./functions/kit/providers", []string{app, yamlParser}},
		{"./functions/kit/local", []string{app, sdk, acp, module + "/adapters/protocols/mcp", mcpSDK}},
		{"./functions/kit/wiring", []string{app, sdk, module + "/adapters", yamlParser, module + "/adapters/protocols/mcp", mcpSDK}},
		{"./functions/kit/settings", []string{module + "/core/env", module + "/core/state", module + "/adapters", yamlParser}},
		{"./functions/app/web", []string{acp}},
		{"./scripts/user/acp", []string{sdk, module + "/adapters/identity/bearer", module + "/adapters/protocols/aisdk", module + "/adapters/protocols/mcp", mcpSDK}},
		{"./scripts/user/dev", []string{sdk, acp, module + "/adapters/identity/bearer"}},
		{"./functions/sweep", []string{module + "/adapters/protocols/page", app, module + "/core/internal/run", module + "/core/agent", module + "/core/tool", module + "/adapters/identity/bearer", "github.com/google/jsonschema-go", yamlParser, templates, module + "/adapters/protocols/mcp", mcpSDK}},
		{"./functions/api", []string{module + "/functions/app/models", module + "/adapters/models/openai", module + "/core/model/scripted", templates}},
		{"./functions/step", []string{module + "/adapters/protocols/page", module + "/adapters/protocols/httpapi", module + "/adapters/protocols/aisdk", module + "/adapters/identity/bearer", templates, module + "/adapters/protocols/mcp", mcpSDK}},
		{"./functions/stream", []string{templates}},
		{"./functions/trigger", []string{module + "/adapters/protocols/page", module + "/functions/app/models", module + "/adapters/models/openai", module + "/core/model/scripted", module + "/adapters/protocols/httpapi", module + "/adapters/protocols/aisdk", module + "/adapters/identity/bearer", module + "/adapters/protocols/mcp", mcpSDK}},
	}
	for _, test := range tests {
		tags, never := "lambda.norpc", test.never
		if base := path.Base(test.target); slices.Contains([]string{"api", "step", "stream", "sweep", "trigger"}, base) {
			tags += ",bedrock" // as they are deployed
			never = append(never, sdk+"/config", module+"/adapters/models/bedrock/profile", prometheus)
			if base != "step" && base != "stream" {
				never = append(never, module+"/adapters/models/bedrock")
			}
		}
		for _, p := range list(t, append([]string{"-tags", tags, "-deps"}, strings.Fields(test.target)...)...) {
			for _, never := range never {
				if p.ImportPath == never || strings.HasPrefix(p.ImportPath, never+"/") {
					t.Errorf("%s links %s", test.target, p.ImportPath)
				}
			}
		}
	}
}

// TestOnlyMainsNameApp: what a user edits is named by the mains that start it, and
// by nothing that would break with it.
func TestOnlyMainsNameApp(t *testing.T) {
	mains := []string{"functions/api", "functions/step", "functions/stream", "functions/trigger", "scripts/user/acp", "scripts/user/dev", "scripts/user/replay", "functions/app"}
	for _, p := range list(t, "./...") {
		if slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), module+"/functions/app") && !slices.Contains(mains, p.room()) {
			t.Errorf("%s imports functions/app", p.room())
		}
		if p.room() != "functions/app" {
			continue
		}
		for _, path := range p.Imports {
			if to := room(path); strings.HasPrefix(path, module) && floor(to) != floor("core") && to != "functions/kit/demo" {
				t.Errorf("functions/app imports %s, want core and functions/kit/demo alone", to)
			}
		}
	}
}

func TestMainsAreTenLines(t *testing.T) {
	for _, pattern := range []string{"./functions/...", "./scripts/user/acp", "./scripts/user/dev", "./scripts/user/demo", "./scripts/verify/deployed/..."} {
		sources(t, pattern, func(room, name string, fset *token.FileSet, file *ast.File, text []byte) {
			if name != "main.go" || room == "scripts/verify/deployed/floor" {
				return
			}
			lines := 0
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					lines++
				}
			}
			if lines > 10 || len(file.Decls) != 2 {
				t.Errorf("%s/main.go has %d lines and %d declarations, want the imports and main in ten lines", room, lines, len(file.Decls))
			}
		})
	}
}
