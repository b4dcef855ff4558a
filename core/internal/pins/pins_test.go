package pins_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// mute is a model that says nothing.
type mute struct{}

func (mute) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(func(model.Delta, error) bool) {}
}

// idle is a plugin that does nothing.
type idle struct{}

func (idle) ID() string { return "p" }

func (idle) Register(*plugin.Registrar) error { return nil }

// kept is a store of snapshots that counts what it is asked.
type kept struct {
	content map[string][]byte
	puts    int
	reads   int
	failure error
}

func (k *kept) PutSnapshot(_ context.Context, hash string, content []byte) error {
	k.puts++
	if k.failure != nil {
		return k.failure
	}
	if k.content == nil {
		k.content = map[string][]byte{}
	}
	k.content[hash] = bytes.Clone(content)
	return nil
}

func (k *kept) Snapshot(_ context.Context, hash string) ([]byte, bool, error) {
	k.reads++
	content, ok := k.content[hash]
	return content, ok, k.failure
}

// program is a process with one agent, a.
func program(t *testing.T, k *kept, spec agent.Spec, plugins ...plugin.Plugin) *pins.Pins {
	t.Helper()
	if spec.ID == "" {
		spec.ID = "a"
	}
	spec.Model = "m"
	agents, err := registry.New(agent.Parts{
		Specs: []agent.Spec{spec}, Models: map[string]agent.ModelBinding{"m": {Model: mute{}}}, Plugins: plugins,
	})
	if err != nil {
		t.Fatal(err)
	}
	return pins.New(agents, k)
}

func mustResolve(t *testing.T, p *pins.Pins, id, pin string) *registry.Resolved {
	t.Helper()
	r, err := p.Resolve(t.Context(), id, pin)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunEndsWithTheAgentThatItBeganWith(t *testing.T) {
	var k kept
	yesterday := program(t, &k, agent.Spec{SystemPrompt: "old"})
	pin := mustResolve(t, yesterday, "a", "").Hash()
	mustResolve(t, yesterday, "a", "")
	mustResolve(t, yesterday, "a", pin)
	if k.puts != 1 || k.reads != 0 {
		t.Errorf("%d puts and %d reads, want the agent stored once and never read", k.puts, k.reads)
	}
	for name, today := range map[string]*pins.Pins{
		"changed": program(t, &k, agent.Spec{SystemPrompt: "new"}),
		"gone":    program(t, &k, agent.Spec{ID: "b"}),
	} {
		before := k.reads
		for range 2 {
			if r := mustResolve(t, today, "a", pin); r.Spec.SystemPrompt != "old" || r.Hash() != pin {
				t.Errorf("%s: the run goes on with the prompt %q of %s", name, r.Spec.SystemPrompt, r.Hash())
			}
		}
		if k.reads != before+1 {
			t.Errorf("%s: the agent was read %d times, want once", name, k.reads-before)
		}
	}
}

// A process that meets agents of many days keeps some of them: 64, and then begins
// anew.
func TestAgentsOfOtherTimesAreKeptInBounds(t *testing.T) {
	var k kept
	var pins []string
	for i := range 66 {
		pins = append(pins, mustResolve(t, program(t, &k, agent.Spec{SystemPrompt: fmt.Sprint(i)}), "a", "").Hash())
	}
	today := program(t, &k, agent.Spec{})
	for _, test := range []struct {
		name       string
		from, till int
		reads      int
	}{
		{"the first 64", 0, 64, 64}, {"these again", 0, 64, 64}, {"one more", 64, 65, 65}, {"the first, which has gone", 0, 1, 66}, {"the two that came last", 64, 65, 66},
	} {
		for _, pin := range pins[test.from:test.till] {
			mustResolve(t, today, "a", pin)
		}
		if k.reads != test.reads {
			t.Errorf("%s: %d reads in all, want %d", test.name, k.reads, test.reads)
		}
	}
}

func TestResolveOfAPinRefuses(t *testing.T) {
	var k kept
	pin := mustResolve(t, program(t, &k, agent.Spec{Plugins: []string{"p"}}, idle{}), "a", "").Hash()
	other := mustResolve(t, program(t, &k, agent.Spec{SystemPrompt: "x"}), "a", "").Hash()
	k.content["newer"] = []byte(`{"spec":{"id":"a","model":"m"},"orchestra":[]}`)
	k.content["damaged"] = []byte(`{"spec":`)
	k.content["swapped"] = k.content[other]
	today := program(t, &k, agent.Spec{})
	tests := []struct {
		name, id, pin, want string
		code                core.Code
	}{
		{"an agent that does not exist", "c", "", `agent "c" not found, known are: a`, core.CodeNotFound},
		{"one that was never stored either", "c", "lost", `agent "c" not found, known are: a`, core.CodeNotFound},
		{"one that is not stored", "a", "lost", `agent "a" as of lost: it is not stored`, core.CodeNotFound},
		{"a plugin that is gone", "a", pin, fmt.Sprintf(`agent "a" as of %s: resolving agent "a": plugin "p" not found, known are: none`, pin), core.CodeNotFound},
		{"content of a newer program", "a", "newer", `agent "a" as of newer: content of an agent: unknown field "orchestra", allowed are spec, pool, models, providers, facts`, core.CodeSchema},
		{"damage", "a", "damaged", `agent "a" as of damaged: content of an agent: value is not JSON at byte 9: unexpected end of JSON input`, core.CodeCorrupt},
		{"content of another agent", "a", "swapped", fmt.Sprintf(`agent "a" as of swapped: the stored content has another hash, %s`, other), core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := today.Resolve(t.Context(), tt.id, tt.pin)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != tt.code || errors.Is(err, pins.ErrStore) {
				t.Errorf("code %s, want %s\n%s", core.CodeOf(err), tt.code, diff)
			}
		})
	}
}

func TestFailureOfTheStoreIsWorthAnotherTry(t *testing.T) {
	down := errors.New("down")
	k := kept{failure: down}
	p := program(t, &k, agent.Spec{})
	for _, pin := range []string{"", "other"} {
		if _, err := p.Resolve(t.Context(), "a", pin); !errors.Is(err, pins.ErrStore) || !errors.Is(err, down) {
			t.Errorf("pin %q: %v, want a failure of the store", pin, err)
		}
	}
	k.failure = nil
	mustResolve(t, p, "a", "")
	if len(k.content) != 1 || k.puts != 2 {
		t.Errorf("%d agents are stored by %d puts, want 1 by 2", len(k.content), k.puts)
	}
}
