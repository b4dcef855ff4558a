package specfile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/tool"
)

// What is wrong with a spec only in view of the program has a place, too.
func TestErrorsOfResolvedSpecsHavePlaces(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a model", "id: a\nsystem_prompt: x\nmodel: gpt", `a.yaml:3:1: resolving agent "a": model "gpt" not found, known are: m`},
		{"a tool", "agents:\n- id: a\n  model: m\n  allowed_tools:\n  - echo\n  - ecko", `a.yaml:6:5: resolving agent "a": tool "ecko" not found, known are: echo, read_result`},
		{"an excluded tool", "id: a\nmodel: m\nexcluded_tools: [ecko]", `a.yaml:3:18: resolving agent "a": tool "ecko" not found, known are: echo, read_result`},
		{"a plugin", "id: a\nmodel: m\nplugins: [permision]", `a.yaml:3:11: resolving agent "a": plugin "permision" not found, known are: delegate, permission`},
		{"a delegate", "id: a\nmodel: m\nplugins: [permission]\ndelegates: [b]", `a.yaml:4:13: resolving agent "a": delegate agent "b" not found, known are: a`},
		{"an exposed tool", "id: a\nmodel: m\nplugins: [permission]\nexposed_tools: [ecko]", `a.yaml:4:17: resolving agent "a": exposed_tools: tool "ecko" not found, known are: echo`},
		{"a tool's choice", "id: a\nmodel: m\ntool_choice: {mode: tool, name: ecko}", `a.yaml:3:1: resolving agent "a": tool_choice: tool "ecko" not found, known are: echo`},
		{"a member of a section", "id: a\nmodel: m\nplugins: [permission]\nsections:\n  permission:\n    rules: []\n    default: deny",
			`a.yaml:7:5: resolving agent "a": registering plugin "permission": section "permission": unknown field "default", allowed are default_behavior, on_deny, rules`},
		{"a section's check", "id: a\nmodel: m\nplugins: [permission]\nsections:\n  permission: {default_behavior: maybe}",
			`a.yaml:5:3: resolving agent "a": registering plugin "permission": section "permission": default_behavior is "maybe", allowed are allow, ask, deny`},
		{"a section that no plugin reads, strictly", "id: a\nmodel: m\nstrict: true\nsections: {other: {}}",
			`a.yaml:4:1: agent "a": sections has "other", which no plugin of the agent reads; read are: none`},
		{"the default", "id: a\nmodel: m\nplugins: [permission]\n---\ndefault: b", `a.yaml:5:1: default agent "b" not found, known are: a`},
		{"an agent of the program", "id: program\nmodel: m", `a.yaml:1:1: agent "program" is given twice`},
		{"a model of the program", "models:\n- {id: m, provider: p, upstream_model: x}\nproviders:\n- {id: p, adapter: fake}", `a.yaml:2:3: model "m" is given twice: as code and as a spec`},
		{"a provider", "models:\n- {id: x, provider: p, upstream_model: x}", `a.yaml:2:11: model "x": provider "p" not found, known are: none`},
		{"an adapter", "providers:\n- {id: p, adapter: open}", `a.yaml:2:11: provider "p": adapter "open" not found, known are: fake`},
		{"a pool's member", "pools:\n- id: p\n  members:\n  - model: m\n  - model: n", `a.yaml:5:5: pool "p": model "n" not found, known are: m`},
		{"a key", "id: a\nmodel: x\n---\nmodels:\n- {id: x, provider: p, upstream_model: x}\nproviders:\n- {id: p, adapter: fake, api_key_env: VENDOR_KEY}",
			`a.yaml:7:26: resolving agent "a": model "x": provider "p": api_key_env is "VENDOR_KEY", a variable that is not set`},
		{"a spec of Go", "default: program", `build host: resolving agent "broken": model "n" not found, known are: m`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parts, places, err := specfile.Loader{}.LoadPlaces(fstest.MapFS{"a.yaml": {Data: []byte(test.text)}})
			if err != nil {
				t.Fatal(err)
			}
			echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct{}) (string, error) { return "", nil })
			parts.Tools, parts.Plugins = []tool.Tool{echo}, []plugin.Plugin{permission.Plugin{}}
			parts.Models = reveille.Models{"m": {Model: scripted.Rules()}}
			parts.Adapters = reveille.Adapters{"fake": func(agent.ProviderSpec) (model.Model, error) { return scripted.Rules(), nil }}
			switch test.name {
			case "an agent of the program":
				parts.Specs = append([]agent.Spec{{ID: "program", Model: "m"}}, parts.Specs...)
			case "a spec of Go":
				parts.Specs = append(parts.Specs, agent.Spec{ID: "broken", Model: "n"})
			}
			_, err = reveille.New(parts, nil)
			located := places.Locate(err)
			if diff := cmp.Diff(test.want, fmt.Sprint(located)); diff != "" {
				t.Error(diff)
			}
			if again := places.Locate(located); again != located {
				t.Errorf("a located error is %v", again)
			}
			if at := (*specfile.Error)(nil); errors.As(located, &at) && (core.CodeOf(located) != core.CodeInvalid || !errors.Is(located, errors.Unwrap(at))) {
				t.Errorf("code %s of %v", core.CodeOf(located), located)
			}
		})
	}
	err := errors.New("of no spec")
	if got := (specfile.Places{}).Locate(err); got != err {
		t.Errorf("%v, want the error itself", got)
	}
}

func TestFilesAreBoundedTogether(t *testing.T) {
	files := func(n, size int) fstest.MapFS {
		all := fstest.MapFS{}
		for i := range n {
			all[fmt.Sprintf("%04d.yaml", i)] = &fstest.MapFile{Data: []byte(strings.Repeat("#", size))}
		}
		return all
	}
	larger := files(8, 1<<20)
	larger["last.yaml"] = &fstest.MapFile{Data: []byte("#")}
	tests := []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"1,000 files", files(1000, 1), "<nil>"},
		{"1,001 files", files(1001, 1), "there are 1001 files, at most 1000 are allowed"},
		{"8 MiB", files(8, 1<<20), "<nil>"},
		{"8 MiB and a byte", larger, "the files up to last.yaml have 8388609 bytes, at most 8388608 are allowed"},
		{"a file of 1 MiB and a byte", files(1, 1<<20+1), "0000.yaml: the file has 1048577 bytes, at most 1048576 are allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := specfile.Load(test.files)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %s", core.CodeOf(err))
			}
		})
	}
}
