package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is this repository.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// make makes a project in an empty folder, of modules that are in the cache.
func makeProject(t *testing.T, arguments ...string) (folder string) {
	t.Helper()
	t.Setenv("GOFLAGS", "-mod=mod -trimpath") // -trimpath: what is compiled is shared with other folders
	t.Setenv("GOPROXY", "off")
	folder = filepath.Join(t.TempDir(), "mine")
	arguments = append(arguments, "-replace", root(t), folder, "example.com/mine")
	if err := run(arguments, "", io.Discard, t.Output()); err != nil {
		t.Fatal(err)
	}
	return folder
}

func read(t *testing.T, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(names...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names are the paths of all files below a folder.
func names(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAProjectHasWhatItNeeds(t *testing.T) {
	folder := makeProject(t)
	got := slices.DeleteFunc(names(t, folder), func(name string) bool {
		return strings.HasPrefix(name, "events/") && filepath.Ext(name) == ".json"
	})
	want := []string{
		".github/workflows/deploy.yml", ".github/workflows/test.yml", ".gitignore", "Makefile", "README.md",
		"app/app.go", "app/app_test.go", "app/environment", "app/models/models.go", "app/tools.go", "app/triggers.json", "app/web/web.go", "dev/main.go",
		"functions/api/main.go", "functions/step/main.go", "functions/stream/main.go", "functions/sweep/main.go", "functions/trigger/main.go",
		"go.mod", "go.sum", "infra/own.yaml", "reveille.json", "template.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of the project (-want +got):\n%s", diff)
	}
	checkFiles(t, folder)
}

// One file of Go has the tools, another one the tests. Agents are files of YAML.
func TestTheStarterYAMLHasOneGoFile(t *testing.T) {
	folder := makeProject(t, "-starter", "yaml")
	want := []string{
		".github/workflows/test.yml", ".gitignore", "Makefile", "README.md", "agents/guide.yaml", "go.mod", "go.sum", "main.go", "main_test.go", "reveille.json",
	}
	if diff := cmp.Diff(want, names(t, folder)); diff != "" {
		t.Errorf("files of the project (-want +got):\n%s", diff)
	}
	checkFiles(t, folder)
}

// printed is what make would run for a target.
func printed(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.Command("make", append([]string{"-n", "-C", folder}, arguments...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "REVEILLE_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MODEL=") && !strings.HasPrefix(v, "ENV=") && !strings.HasPrefix(v, "CONFIRM=") {
			command.Env = append(command.Env, v)
		}
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make -n %v: %v\n%s", arguments, err, out)
	}
	return string(out)
}

func TestProjectsTakeAModelAndAnAddress(t *testing.T) {
	folders := map[string]string{}
	for name := range starters {
		folders[name] = makeProject(t, "-starter", name)
	}
	tests := []struct{ name, starter, arguments, want string }{
		{"first the build is announced", "agent", "run", "echo 'Compiling the local host. The first time, this takes about a minute.'\n"},
		{"a model", "agent", "run MODEL=openai/gpt-6-luna", "\nREVEILLE_MODEL=\"openai/gpt-6-luna\" exec .reveille/dev\n"},
		{"a model of Bedrock", "agent", "run MODEL=bedrock/us.amazon.nova-lite-v1:0", " build -tags bedrock,profile -o .reveille/dev ./dev\n"},
		{"a model of Vertex", "agent", "run MODEL=vertex/gemini-3-flash", " build -tags vertex -o .reveille/dev ./dev\n"},
		{"no model", "agent", "run", " build  -o .reveille/dev ./dev\nexec .reveille/dev\n"},
		{"a model while files are saved", "agent", "dev MODEL=openai/gpt-6-luna", "\nREVEILLE_MODEL=\"openai/gpt-6-luna\" exec .reveille/reload ./dev\n"},
		{"a model of files", "yaml", "run MODEL=openai/gpt-6-luna", "\nREVEILLE_MODEL=\"openai/gpt-6-luna\" exec .reveille/dev\n"},
		{"a model of Bedrock of files", "yaml", "run MODEL=bedrock/us.amazon.nova-lite-v1:0", " build -tags bedrock,profile -o .reveille/dev .\n"},
		{"a model of Vertex of files", "yaml", "run MODEL=vertex/gemini-3-flash", " build -tags vertex -o .reveille/dev .\n"},
		{"the page's host", "chat", "page", ` npm run dev -- '--define:REVEILLE_ADDR="127.0.0.1:3000"'`},
		{"the page's host elsewhere", "chat", "page REVEILLE_ADDR=127.0.0.1:4000", ` npm run dev -- '--define:REVEILLE_ADDR="127.0.0.1:4000"'`},
		{"the page that is built", "chat", "test-page REVEILLE_ADDR=:4000", ` npm run build -- '--define:REVEILLE_ADDR=":4000"'`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := printed(t, folders[test.starter], strings.Fields(test.arguments)...); !strings.Contains(got, test.want) {
				t.Errorf("make %s runs\n%s\nwant in it\n%s", test.arguments, got, test.want)
			}
		})
	}
}

func TestTheStarterChatAddsAPage(t *testing.T) {
	folder := makeProject(t, "-starter", "chat")
	got := slices.DeleteFunc(names(t, folder), func(name string) bool { return !strings.HasPrefix(name, "page/") })
	want := []string{
		"page/.gitignore", "page/.npmrc", "page/package-lock.json", "page/package.json",
		"page/src/chat.js", "page/src/chat.test.js", "page/src/main.jsx", "page/www/index.html", "page/www/style.css",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of the page (-want +got):\n%s", diff)
	}
	if registry := "\"resolved\""; strings.Contains(read(t, folder, "page", "package-lock.json"), registry) {
		t.Error("package-lock.json says where packages come from, which is everybody's own matter")
	}
	for name, task := range map[string]string{"agent": makefile(t, makeProject(t)), "chat": makefile(t, folder)} {
		if has := strings.Contains(task, "\npage:"); has != (name == "chat") {
			t.Errorf("the Makefile of the starter %s: make page is there: %v", name, has)
		}
	}
	checkFiles(t, folder)
}

func makefile(t *testing.T, folder string) string {
	t.Helper()
	return read(t, folder, "Makefile")
}

// checkFiles looks at each file of a project: nothing was left to fill in, Go is
// formatted, and mains are short.
func checkFiles(t *testing.T, folder string) {
	t.Helper()
	for _, name := range names(t, folder) {
		text := read(t, folder, name)
		if strings.Contains(text, "[[.") || strings.Contains(text, "<no value>") {
			t.Errorf("%s has a place that was not filled in", name)
		}
		if filepath.Ext(name) != ".go" {
			continue
		}
		formatted, err := format.Source([]byte(text))
		if err != nil || string(formatted) != text {
			t.Errorf("%s is not formatted: %v", name, err)
		}
		if lines := strings.Count(text, "\n"); filepath.Base(name) == "main.go" && name != "main.go" && lines > 17 {
			t.Errorf("%s has %d lines, want ten and comments", name, lines)
		}
	}
}

// What a project deploys is what this repository deploys, but for the paths of app.
func TestTheTemplateOfAProjectIsOurs(t *testing.T) {
	folder := makeProject(t)
	ours := read(t, root(t), "template.yaml")
	if diff := cmp.Diff(strings.ReplaceAll(ours, "functions/app/", "app/"), read(t, folder, "template.yaml")); diff != "" {
		t.Errorf("template.yaml (-ours +project's):\n%s", diff)
	}
	built := functions([]byte(ours))
	if n := strings.Count(ours, "Type: AWS::Serverless::Function\n"); len(built) != n || n < 5 {
		t.Errorf("of %d functions of template.yaml the Makefile builds %v", n, built)
	}
	for _, name := range built {
		read(t, folder, "functions", strings.ToLower(name), "main.go")
		out, err := exec.Command("make", "-n", "-C", folder, "build-"+name+"Function", "ARTIFACTS_DIR=there").CombinedOutput()
		if want := "-o there/bootstrap ./functions/" + strings.ToLower(name) + "\n"; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("make build-%sFunction: %v, %s, want %q in it", name, err, out, want)
		}
	}
	for _, name := range names(t, filepath.Join(root(t), "events")) {
		if filepath.Ext(name) == ".json" && read(t, folder, "events", name) == "" {
			t.Errorf("events/%s is empty", name)
		}
	}
}

func TestWhatCannotBeAProjectLeavesNothing(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	here := root(t)
	tests := []struct {
		name      string
		arguments []string // FOLDER is the folder of the test
		path      string   // of commands; empty: the usual one
		want      string   // in the error
	}{
		{"no version and no copy", []string{"FOLDER/new", "example.com/mine"}, "", "add -replace PATH"},
		{"no copy there", []string{"-replace", "FOLDER/none", "FOLDER/new", "example.com/mine"}, "", "/none is not a copy of github.com/reveille-run/reveille: "},
		{"a copy of another module", []string{"-replace", "FOLDER/other", "FOLDER/new", "example.com/mine"}, "", "/other is not a copy of github.com/reveille-run/reveille: its go.mod names another module"},
		{"folder with files", []string{"-replace", here, "FOLDER/full", "example.com/mine"}, "", "/full is not empty, it has kept.txt: choose a new or an empty folder"},
		{"a file", []string{"-replace", here, "FOLDER/full/kept.txt", "example.com/mine"}, "", "/full/kept.txt: not a directory"},
		{"below a file", []string{"-replace", here, "FOLDER/full/kept.txt/new", "example.com/mine"}, "", "not a directory"},
		{"module path with a space", []string{"-replace", here, "FOLDER/new", "my agents"}, "", `module path "my agents": `},
		{"module path that is a flag", []string{"-replace", here, "FOLDER/a/b/new", "-x"}, "", `module path "-x": `},
		{"our module path", []string{"-replace", here, "FOLDER/new", "github.com/reveille-run/reveille/mine"}, "", "is within the module that the project requires"},
		{"no Go", []string{"-replace", here, "FOLDER/new", "example.com/mine"}, "FOLDER", "the go command is not on PATH"},
		{"unknown starter", []string{"-starter", "game", "FOLDER/new", "example.com/mine"}, "", `unknown starter "game", want agent, chat or yaml`},
		{"no module path", []string{"FOLDER/new"}, "", "want a folder and a module path, got 1 arguments"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{"full/kept.txt": "kept", "other/go.mod": "module example.com/other\n"} {
				file := filepath.Join(folder, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			arguments := slices.Clone(test.arguments)
			for i, a := range arguments {
				arguments[i] = strings.Replace(a, "FOLDER", folder, 1)
			}
			if test.path != "" {
				t.Setenv("PATH", folder)
			}
			err := run(arguments, "", io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if diff := cmp.Diff([]string{"full/kept.txt", "other/go.mod"}, names(t, folder)); diff != "" {
				t.Errorf("files that are there afterwards (-want +got):\n%s", diff)
			}
			entries, err := os.ReadDir(folder)
			if err != nil || len(entries) != 2 {
				t.Errorf("folders that are there afterwards: %v, %v, want 2", entries, err)
			}
		})
	}
}

// An empty folder that is there is taken as it is, also the one that the command was
// called in, and a copy that is given relatively is named relatively. A workspace around
// it does not matter.
func TestAnEmptyFolderBecomesAProject(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	around := t.TempDir()
	folder := filepath.Join(around, "mine")
	workspace := os.WriteFile(filepath.Join(around, "go.work"), []byte("go 1.26.0\n"), 0o600)
	if err := errors.Join(workspace, os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	here := root(t)
	t.Chdir(folder)
	relative, err := filepath.Rel(folder, here)
	if err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-replace", relative, ".", "example.com/mine"}, "", io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := "replace github.com/reveille-run/reveille => " + filepath.ToSlash(relative) + "\n"; !strings.Contains(read(t, "go.mod"), want) {
		t.Errorf("go.mod is\n%s\nwant %q in it", read(t, "go.mod"), want)
	}
}

func TestNamesOfStacks(t *testing.T) {
	tests := []struct{ module, want string }{
		{"example.com/mine", "mine"},
		{"mine", "mine"},
		{"example.com/mine/v2", "mine"},
		{"example.com/my_agents.go", "my-agents-go"},
		{"example.com/42", "agents-42"},
		{"v2", "v2"},
	}
	for _, test := range tests {
		if got := (&project{module: test.module}).name(); got != test.want {
			t.Errorf("the stack of %s is %s, want %s", test.module, got, test.want)
		}
	}
}

// go run module/scripts/user/new@latest refuses a module whose go.mod has a replacement or
// an exclusion.
func TestThisModuleCanBeRunAtAVersion(t *testing.T) {
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = root(t)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Replace, Exclude []json.RawMessage }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Replace)+len(file.Exclude) != 0 {
		t.Errorf("go.mod has replacements %s and exclusions %s, want none", file.Replace, file.Exclude)
	}
}

// Texts of a project name its own folders; Go files name packages of this module, which
// stay where they are.
func TestPathsOfAppAreTheProjectsOwn(t *testing.T) {
	tests := []struct{ file, text, want string }{
		{"template.yaml", "REVEILLE_TRIGGERS: triggers.json # functions/app/triggers.json", "REVEILLE_TRIGGERS: triggers.json # app/triggers.json"},
		{"events/api.json", "{}", "{}"},
		{"functions/app/web/web.go", `import "github.com/reveille-run/reveille/functions/app/other"`, `import "github.com/reveille-run/reveille/functions/app/other"`},
	}
	for _, test := range tests {
		if got := string(relocate(test.file, []byte(test.text))); got != test.want {
			t.Errorf("%s says %s, want %s", test.file, got, test.want)
		}
	}
}
