package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
)

// quota configures a plugin of the tests.
type quota struct {
	PerDay int               `json:"per_day"`
	Note   string            `json:"note"`
	Hosts  map[string]int    `json:"hosts,omitempty"`
	Nested struct{ On bool } `json:"nested"`
}

// Check implements what a section may: a check of its values.
func (q quota) Check() error {
	if q.PerDay < 0 {
		return errors.New("per_day is negative")
	}
	return nil
}

func quotas() plugin.Section[quota] {
	return plugin.Section[quota]{Name: "quota", Default: quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1}}}
}

// limiter reads its section when it is registered, and says at a gate what it is.
type limiter struct{ read func(quota) }

func (limiter) ID() string { return "limiter" }

func (l limiter) Register(r *plugin.Registrar) error {
	q, err := quotas().Read(r)
	if err != nil {
		return err
	}
	l.read(q)
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		return plugin.Block(quotas().Of(c.Context).Note), nil
	})
	return nil
}

func sections(raw string) map[string]json.RawMessage {
	if raw == "" {
		return nil
	}
	return map[string]json.RawMessage{"quota": json.RawMessage(raw), "other": json.RawMessage("{")}
}

func TestASectionIsReadOverItsDefault(t *testing.T) {
	tests := []struct {
		name, section string
		want          quota
	}{
		{"absent", "", quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1}}},
		{"empty", "{}", quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1}}},
		{"a member", `{"per_day":3}`, quota{PerDay: 3, Note: "default", Hosts: map[string]int{"a": 1}}},
		{"a member that is zero", `{"per_day":0,"note":""}`, quota{Hosts: map[string]int{"a": 1}}},
		{"a map is added to", `{"hosts":{"b":2}}`, quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1, "b": 2}}},
		{"a nested member", `{"nested":{"On":true}}`, quota{PerDay: 10, Note: "default", Hosts: map[string]int{"a": 1}, Nested: struct{ On bool }{true}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got quota
			e, err := engine.New([]plugin.Plugin{limiter{func(q quota) { got = q }}}, engine.Options{Sections: sections(test.section)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"quota"}, e.Sections()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASectionThatIsWrongNamesItself(t *testing.T) {
	tests := []struct{ name, section, want string }{
		{"an unknown member", `{"per_week":1}`, `unknown field "per_week", allowed are per_day, note, hosts, nested`},
		{"another type", `{"per_day":"1"}`, `per_day is "1", want a whole number`},
		{"no object", `[1]`, "value is a list, want an object"},
		{"no JSON", `{"per_day":`, "value is not JSON at byte 12: unexpected end of JSON input"},
		{"two values", `{} {}`, "value is not JSON at byte 4: invalid character '{' after top-level value"},
		{"what its check refuses", `{"per_day":-1}`, "per_day is negative"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			read := func(q quota) { t.Errorf("it was read as %v", q) }
			_, err := engine.New([]plugin.Plugin{limiter{read}}, engine.Options{Sections: sections(test.section)})
			if diff := cmp.Diff(`registering plugin "limiter": section "quota": `+test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// capped has its check on the pointer, as a type with other methods there would.
type capped struct{ Max int }

func (c *capped) Check() error {
	if c.Max > 5 {
		return errors.New("too many")
	}
	return nil
}

func TestASectionsCheckMayBeThePointers(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error {
		_, err := plugin.Section[capped]{Name: "quota"}.Read(r)
		return err
	}}}, engine.Options{Sections: sections(`{"Max":6}`)})
	if diff := cmp.Diff(`registering plugin "p": section "quota": too many`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestASectionMayBeReadAsAPointer(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error {
		_, err := plugin.Section[*capped]{Name: "quota", Default: &capped{}}.Read(r)
		return err
	}}}, engine.Options{Sections: sections(`{"Max":6}`)})
	if diff := cmp.Diff(`registering plugin "p": section "quota": too many`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestADefaultThatIsNoJSONIsTheSectionsError(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error {
		_, err := plugin.Section[struct{ Share float64 }]{Name: "quota", Default: struct{ Share float64 }{math.NaN()}}.Read(r)
		return err
	}}}, engine.Options{Sections: sections(`{"Share":1}`)})
	if diff := cmp.Diff(`registering plugin "p": section "quota": json: unsupported value: NaN`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// filled is JSON only when it says something.
type filled struct{ Max int }

func (f filled) MarshalJSON() ([]byte, error) {
	if f.Max == 0 {
		return nil, errors.New("it says nothing")
	}
	return json.Marshal(map[string]int{"Max": f.Max})
}

func TestADefaultThatIsZeroNeedsNoJSON(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error {
		got, err := plugin.Section[filled]{Name: "quota"}.Read(r)
		if got.Max != 6 {
			t.Errorf("reads %+v", got)
		}
		return err
	}}}, engine.Options{Sections: sections(`{"Max":6}`)})
	if err != nil {
		t.Error(err)
	}
}

func TestTwoPluginsShareASectionAsOneType(t *testing.T) {
	reads := func(id string, read func(r *plugin.Registrar) error) plugin.Plugin { return part{id, read} }
	quotaOf := func(r *plugin.Registrar) error { _, err := quotas().Read(r); return err }
	other := func(r *plugin.Registrar) error { _, err := plugin.Section[capped]{Name: "quota"}.Read(r); return err }
	if _, err := engine.New([]plugin.Plugin{reads("a", quotaOf), reads("b", quotaOf)}, engine.Options{}); err != nil {
		t.Error(err)
	}
	_, err := engine.New([]plugin.Plugin{reads("a", quotaOf), reads("b", other)}, engine.Options{})
	if diff := cmp.Diff(`registering plugin "b": section "quota" is a plugin_test.capped here, and a plugin_test.quota of another plugin`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// One plugin serves many agents, each with the settings of its own spec.
func TestAgentsHaveTheirOwnSettings(t *testing.T) {
	shared := limiter{func(quota) {}}
	settled := func(section string) *engine.Engine {
		e, err := engine.New([]plugin.Plugin{shared}, engine.Options{Sections: sections(section)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	strict, lax, bare := settled(`{"note":"strict"}`), settled(`{"note":"lax"}`), settled("")
	for _, test := range []struct {
		engine *engine.Engine
		want   string
	}{{strict, "strict"}, {lax, "lax"}, {bare, "default"}, {strict, "strict"}} {
		got, err := test.engine.Gate(t.Context(), engine.Moment{Turn: &core.Message{}, Call: &core.ToolCall{ID: "c1"}})
		if err != nil || got.Reason != test.want {
			t.Errorf("the gate says %q, %v, want %q", got.Reason, err, test.want)
		}
	}
	// A context that no engine has made knows of no agent.
	if got := quotas().Of(plugin.Context{}); got.Note != "default" {
		t.Errorf("without an agent the note is %q, want the default", got.Note)
	}
}

func TestReadingASectionLeavesItsDefaultAlone(t *testing.T) {
	section := quotas()
	_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error {
		_, err := section.Read(r)
		return err
	}}}, engine.Options{Sections: sections(`{"hosts":{"b":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(quotas().Default, section.Default); diff != "" {
		t.Error(diff)
	}
}

func TestASectionHasASchema(t *testing.T) {
	type nested struct {
		Max   int
		Rules []capped
		Named map[string]capped
	}
	got, err := plugin.Section[nested]{Name: "quota"}.Schema()
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is required: Read takes the default for what is left out.
	const rule = `{"type":"object","properties":{"Max":{"type":"integer"}},"additionalProperties":false}`
	const rules, named = `{"type":["null","array"],"items":` + rule + `}`, `{"type":"object","additionalProperties":` + rule + `}`
	want := `{"type":"object","properties":{"Max":{"type":"integer"},"Rules":` + rules + `,"Named":` + named + `},"additionalProperties":false}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	_, err = plugin.Section[func()]{Name: "quota"}.Schema()
	if want := `schema of section "quota": `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("of a function: %v, want an error that begins with %s", err, want)
	}
}
