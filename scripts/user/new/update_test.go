package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// earlier is a copy of this repository with other texts, as the version before this one.
func earlier(t *testing.T, replace map[string]func(string) string) string {
	t.Helper()
	folder := t.TempDir()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if os.IsNotExist(err) || strings.HasPrefix(name, ".github/") || strings.HasPrefix(name, "scripts/verify/clients/") {
			continue // deleted, or of no use here
		}
		if err != nil {
			t.Fatal(err)
		}
		if change := replace[name]; change != nil {
			text = []byte(change(string(text)))
		}
		if len(text) > 0 {
			put(t, folder, map[string]string{name: string(text)})
		}
	}
	return folder
}

// git runs git in a folder.
func git(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder}, arguments...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, out)
	}
}

func commit(t *testing.T, folder string) {
	t.Helper()
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "a")
}

// A project of the version before: one file of ours has changed since, one is new, one is gone.
// The user has changed the template and files that are the user's.
func TestAnUpdateMergesAndLeavesTheUsersFiles(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	t.Setenv("GOPROXY", "off")
	before := earlier(t, map[string]func(string) string{
		"template.yaml": func(text string) string {
			return strings.Replace(text, "Reveille runs AI agents one durable step at a time.", "The version before.", 1)
		},
		"scripts/user/new/starters/agent/Makefile.tmpl":    func(text string) string { return text + "\nold: ## An old target\n" },
		"scripts/user/new/starters/agent/app/app.go.tmpl":  func(text string) string { return text + "\n// The version before.\n" },
		"scripts/user/new/starters/agent/dev/main.go.tmpl": func(text string) string { return text },
		"infra/own.yaml":    func(text string) string { return strings.Replace(text, "This file is yours", "The version before", 1) },
		"events/sweep.json": func(string) string { return "" }, // is new since
	})
	put(t, before, map[string]string{"events/old.json": "{}\n"})
	p := &project{templates: os.DirFS(filepath.Join(before, "scripts", "user", "new")), starter: "agent", replace: before, version: "v0.0.0", folder: filepath.Join(t.TempDir(), "mine"), module: "example.com/mine"}
	if err := p.create(); err != nil {
		t.Fatal(err)
	}
	folder := p.folder
	git(t, folder, "init", "-q")
	users := map[string]string{
		"infra/own.yaml": "Resources: {}\n", "app/environment": "A=1\n", "app/tools.go": read(t, folder, "app/tools.go") + "// mine\n", "app/triggers.json": `{"triggers": [], "x": 1}`,
		"app/models/models.go": read(t, folder, "app/models/models.go") + "// mine\n", "extra/README": "mine",
	}
	put(t, folder, users)
	put(t, folder, map[string]string{"template.yaml": strings.Replace(read(t, folder, "template.yaml"), "    Default: 256\n", "    Default: 512\n", 1)})
	if err := run([]string{"-update", "-replace", root(t), folder}, "", io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "is not committed") && !strings.Contains(err.Error(), "not committed, such as") {
		t.Fatalf("before a commit: error %v", err)
	}
	commit(t, folder)
	users["app/app.go"] = read(t, folder, "app/app.go") // as it was made

	var said strings.Builder
	if err := run([]string{"-update", "-n", "-replace", root(t), folder}, "", &said, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(said.String()) {
		what, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		lines[strings.TrimSpace(name)] = what
	}
	want := map[string]string{
		"template.yaml": merged, "Makefile": updated, "events/sweep.json": added, "events/old.json": deleted, "events/step.json": unchanged, "README.md": unchanged, "dev/main.go": unchanged,
		"app/app.go: the starter of the new version has changed": yours, "infra/own.yaml: the starter of the new version has changed": yours, "app/tools.go": yours, "app/environment": yours,
	}
	maps.DeleteFunc(lines, func(name, _ string) bool { return want[name] == "" })
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("a dry run says (-want +got):\n%s\n%s", diff, said.String())
	}
	if out, err := exec.Command("git", "-C", folder, "status", "--porcelain").Output(); err != nil || len(out) > 0 {
		t.Errorf("after a dry run there are changes: %s, %v", out, err)
	}

	if err := run([]string{"-update", "-replace", root(t), folder}, "", io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name, text := range users {
		if got := read(t, folder, name); got != text {
			t.Errorf("%s has changed:\n%s", name, cmp.Diff(text, got))
		}
	}
	made := makeProject(t)
	template := strings.Replace(read(t, made, "template.yaml"), "    Default: 256\n", "    Default: 512\n", 1)
	if got := read(t, folder, "template.yaml"); got != template || !strings.Contains(got, "one durable step") {
		t.Errorf("template.yaml (-want +got):\n%s", cmp.Diff(template, got))
	}
	for _, name := range []string{"Makefile", "events/sweep.json", recordFile} {
		if diff := cmp.Diff(read(t, made, name), read(t, folder, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "events", "old.json")); err == nil {
		t.Error("events/old.json is still there")
	}
	if text := read(t, folder, "go.mod"); !strings.Contains(text, "replace "+reveille+" => "+root(t)+"\n") {
		t.Errorf("go.mod is\n%s", text)
	}
	if leftovers, err := filepath.Glob(filepath.Join(filepath.Dir(folder), ".new-*")); err != nil || len(leftovers) > 0 {
		t.Errorf("folders %v stay, %v", leftovers, err)
	}
}

func TestAnUpdateNeedsAProject(t *testing.T) {
	empty := t.TempDir()
	other := t.TempDir()
	put(t, other, map[string]string{"go.mod": "module example.com/other\n\ngo 1.26\n"})
	mine := t.TempDir()
	put(t, mine, map[string]string{"go.mod": "module example.com/mine\n\ngo 1.26\n\nrequire " + reveille + " v0.1.0\n"})
	broken := t.TempDir()
	put(t, broken, map[string]string{"go.mod": read(t, mine, "go.mod"), recordFile: `{"starter":"x"}`})
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no module", []string{empty}, ": name the folder of a project: exit status"},
		{"another module", []string{other}, "does not require " + reveille + ": name the folder of a project"},
		{"no repository", []string{mine}, "is not in a git repository, so an update cannot be undone: run git init and commit the project, or add -force"},
		{"a record of nothing", []string{broken}, `reveille.json: the starter is "x", want agent, chat or yaml, and files: restore the file from your repository`},
		{"two folders", []string{mine, other}, "-update wants at most a folder, and keeps the starter of the project"},
		{"a starter", []string{"-starter", "chat", mine}, "-update wants at most a folder, and keeps the starter of the project"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(append([]string{"-update", "-replace", root(t)}, tt.args...), "", io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	if err := run([]string{"-n", "-replace", root(t), empty, "example.com/a"}, "", io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "-n, -force and -conflicts need -update") {
		t.Errorf("-n without -update: %v", err)
	}
}

// Where there is no record, the new version cannot be the base: nothing would seem to have
// changed.
func TestTheNewVersionIsNoBaseWithoutARecord(t *testing.T) {
	other := t.TempDir()
	put(t, other, map[string]string{"go.mod": "module " + reveille + "\n"})
	tests := []struct {
		name string
		old  existing
		want []string
	}{
		{"the same folder", existing{replaced: root(t)}, nil},
		{"the same folder by another path", existing{replaced: filepath.Join(root(t), "infra", "..")}, nil},
		{"another folder", existing{replaced: other}, []string{other}},
		{"a record", existing{replaced: root(t), recorded: true}, []string{root(t)}},
		{"the same version", existing{made: record{Version: "v0.2.0"}}, nil},
		{"a folder that is gone", existing{replaced: filepath.Join(other, "gone"), recorded: true}, nil},
		{"another module", existing{replaced: t.TempDir(), recorded: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &project{source: root(t), version: "v0.2.0", stage: t.TempDir()}
			if diff := cmp.Diff(tt.want, p.sources(t.TempDir(), tt.old)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnUpdateToTheSameVersionChangesNothing(t *testing.T) {
	for starter := range starters {
		folder := makeProject(t, "-starter", starter)
		var said strings.Builder
		if err := run([]string{"-update", "-n", "-replace", root(t), folder}, "", &said, io.Discard); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if last := lines[len(lines)-1]; last != "Nothing was written." || len(lines) < 8 {
			t.Errorf("%s: %d lines, the last one is %q", starter, len(lines), last)
		}
		for _, line := range lines[:len(lines)-1] {
			if what, _, _ := strings.Cut(line, " "); what != unchanged && what != yours || strings.Contains(line, ":") {
				t.Errorf("%s: %s", starter, line)
			}
		}
	}
}
