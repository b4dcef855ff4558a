package specfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const everything = `# the agents of a shop
default: clerk
agents:
  - id: clerk
    model: both
    system_prompt: |
      You sell things.
      Prices are in ${CURRENCY}.
    max_rounds: 4
    temperature: 0.5
    reasoning_effort: {budget: 2048}
    allowed_tool_patterns: &tools ["shop_*"]
    delegates: [buyer]
    sections:
      greeting: {text: "Hello", on: true, since: 2020-01-01, none: ~}
  - id: buyer
    model: fast
    allowed_tool_patterns: *tools
models:
  - {id: fast, provider: vendor, upstream_model: fast-1}
pools:
  - id: both
    members:
      - model: fast
        weight: 3
      - {model: slow}
---
id: helper
model: slow
allowed_tools:
---
providers: [{id: vendor, adapter: openai, api_key_env: VENDOR_KEY, timeout_ms: 30000}]
`

// sold is what the file says.
func sold() agent.Parts {
	return agent.Parts{
		Default: "clerk",
		Specs: []agent.Spec{
			{ID: "clerk", Model: "both", SystemPrompt: "You sell things.\nPrices are in ${CURRENCY}.\n", MaxRounds: new(4), Temperature: new(0.5),
				ReasoningEffort: model.EffortBudget(2048), AllowedToolPatterns: []string{"shop_*"}, Delegates: []string{"buyer"},
				Sections: map[string]json.RawMessage{"greeting": json.RawMessage(`{"text":"Hello","on":true,"since":"2020-01-01","none":null}`)}},
			{ID: "buyer", Model: "fast", AllowedToolPatterns: []string{"shop_*"}},
			{ID: "helper", Model: "slow", AllowedTools: []string{}},
		},
		ModelSpecs: []agent.ModelSpec{{ID: "fast", Provider: "vendor", UpstreamModel: "fast-1"}},
		Pools:      []agent.ModelPoolSpec{{ID: "both", Members: []agent.PoolMember{{Model: "fast", Weight: 3}, {Model: "slow"}}}},
		Providers:  []agent.ProviderSpec{{ID: "vendor", Adapter: "openai", APIKeyEnv: "VENDOR_KEY", TimeoutMS: 30000}},
	}
}

func TestDecodeReadsDocumentsOfYAML(t *testing.T) {
	got, err := specfile.Decode("shop.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sold(), got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsValuesOfJSON(t *testing.T) {
	got, err := specfile.Decode("a.json", []byte(`{"id":"a","model":"m","system_prompt":"\ud83d\ude00 <\/p>"}
{"agents": [{"id":"b","model":"m"}], "default":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Parts{Default: "b", Specs: []agent.Spec{{ID: "a", Model: "m", SystemPrompt: "😀 </p>"}, {ID: "b", Model: "m"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKeysComeFromTheEnvironmentThatIsGiven(t *testing.T) {
	vendor := func(env func(string) (string, bool)) agent.ProviderSpec {
		got, err := specfile.Loader{Env: env}.Decode("shop.yaml", []byte(everything))
		if err != nil {
			t.Fatal(err)
		}
		return got.Providers[0]
	}
	want := agent.ProviderSpec{ID: "vendor", Adapter: "openai", APIKeyEnv: "VENDOR_KEY", TimeoutMS: 30000}
	if diff := cmp.Diff(want, vendor(func(string) (string, bool) { return "", false })); diff != "" {
		t.Errorf("a variable that is not set:\n%s", diff)
	}
	want.APIKey = secret.New("sk-of-VENDOR_KEY")
	if diff := cmp.Diff(want, vendor(func(name string) (string, bool) { return "sk-of-" + name, true })); diff != "" {
		t.Error(diff)
	}
}

func TestLoadTakesKeysFromItsEnvironment(t *testing.T) {
	files := fstest.MapFS{"p.yaml": {Data: []byte("providers:\n- {id: a, adapter: x, api_key_env: KEY}\n- {id: b, adapter: x}\n")}}
	var asked []string
	parts, err := specfile.Loader{Env: func(name string) (string, bool) { asked = append(asked, name); return "sk-" + name, true }}.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := parts.Providers[0].APIKey.Reveal(), parts.Providers[1].APIKey.Reveal(); a != "sk-KEY" || b != "" {
		t.Errorf("keys %q and %q", a, b)
	}
	if diff := cmp.Diff([]string{"KEY"}, asked); diff != "" {
		t.Error(diff)
	}
}

// What an id names has one of its kind only: an agent may be called as its model is.
func TestIdsAreOfTheirKind(t *testing.T) {
	parts, err := specfile.Decode("a.yaml", []byte("agents: [{id: x, model: x}]\nmodels: [{id: x, provider: x, upstream_model: u}]\npools: [{id: x, members: [{model: m}]}]\nproviders: [{id: x, adapter: a}]"))
	if err != nil || len(parts.Specs)+len(parts.ModelSpecs)+len(parts.Pools)+len(parts.Providers) != 4 {
		t.Errorf("%+v, %v", parts, err)
	}
}

// A file of exactly the limit, documents with nothing in them, and lists and objects
// of exactly the depth are read.
func TestWhatIsAtItsLimitIsRead(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ name, file, text, want string }{
		{"the largest file", "a.yaml", "id: a\nmodel: m\n" + strings.Repeat("#", 1<<20-15), ""},
		{"empty documents", "a.yaml", "---\n---\n~\n---\nid: a\nmodel: m\n---\n# nothing\n", ""},
		{"lists of YAML", "a.yaml", "id: a\nmodel: m\nsections: {s: " + nested(62) + "}", ""},
		{"lists of YAML behind the limit", "a.yaml", "id: a\nmodel: m\nsections: {s: " + nested(63) + "}", "a.yaml:3:77: lists and objects nest deeper than 64"},
		{"lists of JSON", "a.json", `{"id":"a","model":"m","sections":{"s":` + nested(62) + `}}`, ""},
		{"lists of JSON behind the limit", "a.json", `{"id":"a","model":"m","sections":{"s":` + nested(63) + `}}`, "a.json:1:101: lists and objects nest deeper than 64"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parts, err := specfile.Decode(test.file, []byte(test.text))
			if diff := cmp.Diff(test.want, strings.TrimSuffix(fmt.Sprint(err), "<nil>")); diff != "" || err == nil && len(parts.Specs) != 1 {
				t.Errorf("%d agents\n%s", len(parts.Specs), diff)
			}
		})
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	_, err := specfile.Load(fstest.MapFS{"a.yaml": {Mode: fs.ModeDir}})
	if diff := cmp.Diff("reading specs: read a.yaml: invalid argument", fmt.Sprint(err)); diff != "" || errors.Unwrap(err) == nil {
		t.Error(diff)
	}
}

func TestErrorsSayWhereSomethingIsWrong(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"an unknown field", "a.yaml", "agents:\n  - id: a\n    model: m\n    max_round: 3\n", `a.yaml:4:5: unknown field "max_round", did you mean "max_rounds"?`},
		{"of a single agent", "a.yaml", "\n\nid: a\nmodel: m\nmax_round: 3\n", `a.yaml:5:1: unknown field "max_round", did you mean "max_rounds"?`},
		{"further in", "a.yml", "agents:\n- id: a\n  model: m\n  retry:\n    max_retry: 3", `a.yml:5:5: unknown field "max_retry" in retry, did you mean "max_retries"?`},
		{"of the file", "a.yaml", "agent:\n- id: a", `a.yaml:1:1: unknown field "agent", did you mean "agents"?`},
		{"of nothing like it", "a.yaml", "name: x", `a.yaml:1:1: unknown field "name", allowed are agents, models, pools, providers, default`},
		{"a wrong type", "a.yaml", "id: a\nmodel: m\nmax_rounds: '3'", `a.yaml:3:1: max_rounds is "3", want a whole number`},
		{"a word for a truth", "a.yaml", "id: a\nmodel: m\nstrict: yes", `a.yaml:3:1: strict is "yes", want true or false`},
		{"a wrong type in a list", "a.yaml", "id: a\nmodel: m\nplugins:\n- x\n-  5", `a.yaml:5:4: plugins[1] is 5, want a string`},
		{"out of its range", "a.yaml", "agents:\n- id: a\n  model: m\n  retry: {max_retries: 21}", `a.yaml:4:11: agent "a": retry.max_retries is 21, allowed are 0 to 20`},
		{"a pattern", "a.yaml", "id: a\nmodel: m\nallowed_tool_patterns: ['x', 'y\\']", `a.yaml:3:30: agent "a": allowed_tool_patterns[1]: pattern "y\\" ends in a single backslash, write \\ for one`},
		{"a section", "a.yaml", "id: a\nmodel: m\nsections:\n  s:", `a.yaml:4:3: agent "a": sections.s is null, want a JSON value that is not null`},
		{"what is missing", "a.yaml", "agents:\n- id: a\n  system_prompt: x", `a.yaml:2:3: agent "a": model is empty`},
		{"no id", "a.yaml", "agents:\n- model: a", `a.yaml:2:3: agent id is empty`},
		{"a pool's member", "a.yaml", "pools:\n- id: p\n  members:\n  - model: a\n  - {model: b, weight: 1001}", `a.yaml:5:16: pool "p": members[1].weight is 1001, allowed are 1 to 1000`},
		{"a model", "a.yaml", "models: [{id: m, provider: p}]", `a.yaml:1:10: model "m": upstream_model is empty`},
		{"an id twice", "a.yaml", "agents:\n- {id: a, model: m}\n---\nid: a\nmodel: m", `a.yaml:4:1: agent "a" is given twice, first at a.yaml:2:3`},
		{"two defaults", "a.yaml", "default: a\n---\ndefault: a", `a.yaml:3:1: default is given twice, first at a.yaml:1:1`},
		{"a key", "a.yaml", "providers:\n- id: p\n  adapter: a\n  api_key: sk-hunter2", `a.yaml:4:3: api_key does not belong into a file, api_key_env names the environment variable that holds it`},
		{"a field twice", "a.yaml", "id: a\nmodel: m\nid: b", `a.yaml:3:1: id is given twice`},
		{"a field twice in a section", "a.yaml", "id: a\nmodel: m\nsections:\n  s: {k: 1, k: 2}", `a.yaml:4:13: sections.s.k is given twice`},
		{"a merge key", "a.yaml", "id: a\n<<: {model: m}", `a.yaml:2:1: merge keys (<<) are not read, repeat the fields`},
		{"a name that is a number", "a.yaml", "id: a\n5: m", `a.yaml:2:1: a field's name is text, put it in quotes`},
		{"an octal number", "a.yaml", "id: a\nmax_rounds: 012", `a.yaml:2:13: 012 is not a JSON number; put a text in quotes`},
		{"no number", "a.yaml", "id: a\ntemperature: .nan", `a.yaml:2:14: .nan is not a JSON number; put a text in quotes`},
		{"a tag", "a.yaml", "id: !thing a", `a.yaml:1:5: tag !thing has no meaning here`},
		{"a tag of an object", "a.yaml", "id: a\nretry: !x {}", `a.yaml:2:8: tag !x has no meaning here`},
		{"a tag of a list", "a.yaml", "id: a\nplugins: !!set []", `a.yaml:2:10: tag !!set has no meaning here`},
		{"a tag that does not fit", "a.yaml", "id: a\nstrict: !!bool maybe", `a.yaml:2:9: "maybe" is neither true nor false`},
		{"a model twice", "a.yaml", "models:\n- {id: m, provider: p, upstream_model: a}\n- {id: m, provider: p, upstream_model: b}", `a.yaml:3:3: model "m" is given twice, first at a.yaml:2:3`},
		{"a pool twice", "a.yaml", "pools:\n- {id: p, members: [{model: a}]}\n- {id: p, members: [{model: b}]}", `a.yaml:3:3: pool "p" is given twice, first at a.yaml:2:3`},
		{"a name that is a list", "a.yaml", "id: a\n[x]: m", `a.yaml:2:1: a field's name is text, put it in quotes`},
		{"no JSON at all", "a.json", "x", `a.json:1:1: not JSON: invalid character 'x' looking for beginning of value`},
		{"a provider twice", "a.yaml", "providers:\n- {id: p, adapter: a}\n- {id: p, adapter: b}", `a.yaml:3:3: provider "p" is given twice, first at a.yaml:2:3`},
		{"an alias of itself", "a.yaml", "id: a\nsections: &s {x: *s}", `a.yaml:2:18: lists and objects nest deeper than 64`},
		{"many aliases", "a.yaml", bombs(), `a.yaml:3:7: the document has more than 100000 values, with aliases expanded`},
		{"a list", "a.yaml", "- a", `a.yaml:1:1: value is a list, want an object`},
		{"no YAML", "a.yaml", "id: a\n b: c", `a.yaml:2:1: not YAML: mapping values are not allowed in this context`},
		{"no anchor", "a.yaml", "id: *a", `a.yaml:1:1: not YAML: unknown anchor 'a' referenced`},
		{"JSON's unknown field", "a.json", "{\n  \"agents\": [\n    {\"id\": \"a\", \"model\": \"m\",\n\t \"max_round\" : 3}\n  ]\n}", `a.json:4:3: unknown field "max_round", did you mean "max_rounds"?`},
		{"JSON out of its range", "a.json", `{"agents":[{"id":"a","model":"m"},{"id":"b","model":"m","max_tokens":-1}]}`, `a.json:1:57: agent "b": max_tokens is -1, want 0 (the provider's default) or more`},
		{"JSON behind JSON", "a.json", "{\"default\":\"a\"}\n\n  {\"x\":1}", `a.json:3:4: unknown field "x", allowed are agents, models, pools, providers, default`},
		{"no JSON", "a.json", "{\n\"id\": x}", `a.json:2:7: not JSON: invalid character 'x' looking for beginning of value`},
		{"JSON's field twice in a section", "a.json", `{"id":"a","model":"m","sections":{"s":{"k":1, "k":2}}}`, `a.json:1:47: sections.s.k is given twice`},
		{"half of JSON", "a.json", "{\n\"id\":", `a.json:2:6: not JSON: unexpected EOF`},
		{"JSON that nests", "a.json", `{"id":"a","sections":{"s":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, `a.json:1:89: lists and objects nest deeper than 64`},
		{"another kind of file", "a.toml", "", `a.toml: specs are read from files that end in .yaml, .yml or .json`},
		{"too large a file", "a.yaml", strings.Repeat("#", 1<<20+1), `a.yaml: the file has 1048577 bytes, at most 1048576 are allowed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := specfile.Decode(test.file, []byte(test.text))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			var at *specfile.Error
			if core.CodeOf(err) != core.CodeInvalid || !errors.As(err, &at) || at.File != test.file {
				t.Errorf("code %q of %+v", core.CodeOf(err), at)
			}
		})
	}
}

// bombs is a small document of 10^9 values.
func bombs() string {
	var b strings.Builder
	b.WriteString("id: a\nsections:\n  s0: &s0 [lol]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "  s%d: &s%d [%s*s%d]\n", i, i, strings.Repeat(fmt.Sprintf("*s%d,", i-1), 9), i-1)
	}
	return b.String()
}

func TestLoadReadsFilesInOrder(t *testing.T) {
	files := fstest.MapFS{
		"b.yaml":       {Data: []byte("id: b\nmodel: m")},
		"a.json":       {Data: []byte(`{"id":"a","model":"m"}`)},
		"empty.yml":    {Data: []byte("# nothing yet\n---\n")},
		".#a.yml":      {Data: []byte("of an editor")},
		"notes.txt":    {Data: []byte("no spec")},
		"more/c.yaml":  {Data: []byte("id: c\nmodel: m")},
		"twice/a.yaml": {Data: []byte("id: a\nmodel: m")},
	}
	tests := []struct {
		name     string
		patterns []string
		want     []string
		err      string
	}{
		{"those of a folder", nil, []string{"a", "b"}, ""},
		{"those of patterns, each once", []string{"*.yaml", "b.*", "more/*"}, []string{"b", "c"}, ""},
		{"a pattern without a file", []string{"*.yaml", "x/*.yaml"}, nil, `no file matches "x/*.yaml"`},
		{"one pattern without a file", []string{"x/*.yaml"}, nil, `no file matches "x/*.yaml"`},
		{"a pattern that is none", []string{"["}, nil, `pattern "[": syntax error in pattern`},
		{"an id of two files", []string{"a.json", "twice/*"}, nil, `twice/a.yaml:1:1: agent "a" is given twice, first at a.json:1:2`},
		{"another kind of file", []string{"notes.txt"}, nil, `notes.txt: specs are read from files that end in .yaml, .yml or .json`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parts, err := specfile.Load(files, test.patterns...)
			if diff := cmp.Diff(test.err, strings.TrimSuffix(fmt.Sprint(err), "<nil>")); diff != "" {
				t.Error(diff)
			}
			var got []string
			for _, s := range parts.Specs {
				got = append(got, s.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := specfile.Load(fstest.MapFS{}); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("no files: %v", err)
	}
}

func FuzzSpecfile(f *testing.F) {
	f.Add("a.yaml", []byte(everything))
	f.Add("a.json", []byte(`{"agents":[{"id":"a","model":"m","sections":{"s":{"x":[1,{"y":null}]}}}],"default":"a"} {"id":"b","model":"m"}`))
	f.Add("a.yaml", []byte("id: a\nsections: &s {x: *s}"))
	f.Add("a.yml", []byte("agents: [{id: a, max_rounds: 012}]\n---\n<<: 5"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		parts, err := specfile.Decode(name, data)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %q, want invalid", err, core.CodeOf(err))
			}
			var at *specfile.Error
			if !errors.As(err, &at) || at.Line < 0 || at.Line > len(data)+1 {
				t.Errorf("%v is of line %+v", err, at)
			}
			return
		}
		for _, spec := range parts.Specs {
			text, err := core.EncodeJSON(spec.Normal())
			if err != nil {
				t.Fatal(err)
			}
			again, err := specfile.Decode("again.json", text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff([]agent.Spec{spec}, again.Specs); diff != "" {
				t.Error(diff)
			}
		}
	})
}
