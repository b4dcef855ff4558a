package agentfiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/agentfiles"
)

// write writes files, by name, and changes into their folder's parent.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesAreAddedToParts(t *testing.T) {
	const a, b = "id: a\nmodel: m\n", "id: b\nmodel: m\n"
	code := func(preset string, ids ...string) agent.Parts {
		parts := agent.Parts{Default: preset}
		for _, id := range ids {
			parts.Specs = append(parts.Specs, agent.Spec{ID: id, Model: "m"})
		}
		return parts
	}
	tests := []struct {
		name   string
		files  map[string]string
		code   agent.Parts
		agents []string
		preset string
	}{
		{"the only agent of the files is the default", map[string]string{"agents/a.yaml": a}, code("x", "x", "y"), []string{"x", "y", "a"}, "a"},
		{"of two, the program's stays the default", map[string]string{"agents/a.yaml": a, "agents/b.yml": b}, code("x", "x", "y"), []string{"x", "y", "a", "b"}, "x"},
		{"of two, the program's only agent stays the default", map[string]string{"agents/a.yaml": a, "agents/b.yml": b}, code("", "x"), []string{"x", "a", "b"}, "x"},
		{"the files name the default", map[string]string{"agents/a.yaml": a, "agents/b.yml": b + "---\ndefault: b"}, code("x", "x"), []string{"x", "a", "b"}, "b"},
		{"without agents in the program there is no default of two", map[string]string{"agents/a.yaml": a, "agents/b.json": `{"id":"b","model":"m"}`}, code(""), []string{"a", "b"}, ""},
		{"the program's default is an agent of the files", map[string]string{"agents/a.yaml": a, "agents/b.yml": b}, code("b", "x"), []string{"x", "a", "b"}, "b"},
		{"subfolders are not read", map[string]string{"agents/a.yaml": a, "agents/more/b.yaml": b}, code("x", "x"), []string{"x", "a"}, "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			write(t, test.files)
			files, err := agentfiles.Read("agents")
			if err != nil {
				t.Fatal(err)
			}
			parts := files.Add(test.code)
			var got []string
			for _, s := range parts.Specs {
				got = append(got, s.ID)
			}
			if diff := cmp.Diff(test.agents, got); diff != "" || parts.Default != test.preset {
				t.Errorf("default %q, want %q; agents:\n%s", parts.Default, test.preset, diff)
			}
		})
	}
}

func TestModelsPoolsAndProvidersAreAdded(t *testing.T) {
	write(t, map[string]string{"agents/models.yaml": "models: [{id: m, provider: p, upstream_model: u}]\npools: [{id: q, members: [{model: m}]}]\nproviders: [{id: p, adapter: openai, api_key_env: AGENTFILES_KEY}]"})
	t.Setenv("AGENTFILES_KEY", "sk-1")
	files, err := agentfiles.Read("agents")
	if err != nil {
		t.Fatal(err)
	}
	parts := files.Add(agent.Parts{
		Default: "x", Specs: []agent.Spec{{ID: "x"}},
		ModelSpecs: []agent.ModelSpec{{ID: "mx"}}, Pools: []agent.ModelPoolSpec{{ID: "px"}}, Providers: []agent.ProviderSpec{{ID: "vx"}},
	})
	got := []string{parts.Default}
	for _, m := range parts.ModelSpecs {
		got = append(got, m.ID)
	}
	for _, p := range parts.Pools {
		got = append(got, p.ID)
	}
	for _, p := range parts.Providers {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff([]string{"x", "mx", "m", "px", "q", "vx", "p"}, got); diff != "" || parts.Providers[1].APIKey.Reveal() != "sk-1" {
		t.Errorf("key %q; default, models, pools and providers (-want +got):\n%s", parts.Providers[1].APIKey.Reveal(), diff)
	}
}

// An error of the runtime about an agent of the files has its place, and any error the code
// of bad input.
func TestAnErrorOfTheRuntimeHasTheFile(t *testing.T) {
	write(t, map[string]string{"agents/a.yaml": "id: a\nmodel: none\n"})
	files, err := agentfiles.Read("agents/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = reveille.New(files.Add(agent.Parts{Models: reveille.Models{"m": {Model: scripted.Rules()}}}), nil)
	located := files.Locate(err)
	const want = `agents/a.yaml:2:1: resolving agent "a": model "none" not found, known are: m`
	if got := fmt.Sprint(located); got != want || core.CodeOf(located) != core.CodeInvalid {
		t.Errorf("%s (code %s), want %s", got, core.CodeOf(located), want)
	}
}

func TestAFolderIsOptional(t *testing.T) {
	files, err := agentfiles.Read("")
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Parts{Default: "x", Specs: []agent.Spec{{ID: "x"}, {ID: "y"}}}
	if diff := cmp.Diff(want, files.Add(want), cmp.AllowUnexported(agent.Parts{})); diff != "" {
		t.Error(diff)
	}
	err = core.Errorf(core.CodeNotFound, "of no file")
	if got := files.Locate(err); got != err || files.Locate(nil) != nil {
		t.Errorf("%v, want the error itself", got)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	tests := []struct {
		name, folder string
		files        map[string]string
		want         string
	}{
		{"no folder", "agents", nil, "environment variable REVEILLE_AGENTS: stat agents: no such file or directory"},
		{"a file", "agents", map[string]string{"agents": ""}, "environment variable REVEILLE_AGENTS: read agents: not a folder"},
		{"an empty folder", "agents", map[string]string{"agents/a.txt": ""}, "environment variable REVEILLE_AGENTS: folder agents: there is no file *.yaml, *.yml or *.json"},
		{"an unknown field", "./agents/", map[string]string{"agents/a.yaml": "id: a\nmodels: m"}, `agents/a.yaml:2:1: unknown field "models", did you mean "model"?`},
		{"an id twice", "agents", map[string]string{"agents/a.yaml": "id: a\nmodel: m", "agents/b.yaml": "id: a\nmodel: m"}, `agents/b.yaml:1:1: agent "a" is given twice, first at a.yaml:1:1`},
		{"too large a file", "agents", map[string]string{"agents/a.yaml": strings.Repeat("#", 1<<20+1)}, "agents/a.yaml: the file has 1048577 bytes, at most 1048576 are allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			write(t, test.files)
			_, err := agentfiles.Read(test.folder)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
