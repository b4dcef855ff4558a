package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// resolved is an agent with a model of 10,000 tokens, in which a byte costs half a token.
func resolved(t *testing.T, policy *agent.ContextWindowPolicy) *registry.Resolved {
	t.Helper()
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Name: "m", Model: silent{}, Facts: model.Facts{ContextWindow: 10_000, TokensPerByte: 0.5}}},
		Specs:  []agent.Spec{{ID: "demo", Model: "m", Context: policy}},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := agents.Resolve("demo")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// silent is a model that nobody asks.
type silent struct{ model.Model }

// textOf is a message of so many bytes.
func textOf(role core.Role, bytes int) core.Message {
	return core.Message{Role: role, Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", bytes)}}}
}

// All that stands beside the history counts, and what a program allows at most bounds what
// its agents do.
func TestWhatAWindowIsChosenFrom(t *testing.T) {
	front, opening := textOf(core.RoleUser, 1), textOf(core.RoleUser, 2)
	shown := window.History{Messages: []core.Message{textOf(core.RoleUser, 3)}, Places: []window.Place{{Sequence: 9}}}
	last := core.Window{First: 5, Opening: 3}
	turns := []core.Message{{Role: core.RoleAssistant, Model: "m"}}
	// 30 tokens of the system prompt, 18 before the conversation and 28 behind it.
	request := model.Request{Model: "m", System: strings.Repeat("s", 60)}
	b := beside{before: []core.Message{textOf(core.RoleSystem, 20)}, behind: []core.Message{textOf(core.RoleSystem, 40)}}
	tests := []struct {
		name                 string
		most                 int
		summary              *checkpoint.Summary
		limit, model, beside int
	}{
		{"as the agent says", 0, nil, 6000, 8000, 76},
		{"under a summary of 58 tokens", 0, &checkpoint.Summary{Message: textOf(core.RoleUser, 100)}, 6000, 8000, 134},
		{"at most 1000 tokens of history", 1000, nil, 1076, 1076, 76},
		{"at most 7000, which is more than the agent's", 7000, nil, 6000, 6000, 76},
	}
	for _, tt := range tests {
		c := &checkpoint.Conversation{
			Window: last, Front: &front, Summary: tt.summary, Run: core.ID{1}, Opening: checkpoint.Opening{Message: &opening, Seq: 7},
			Messages: checkpoint.ListOf(turns), Places: checkpoint.ListOf([]window.Place{{Window: &core.Window{Estimate: 40, Tokens: 50}}}),
		}
		p := &prompt{
			holder: &holder{id: core.ID{1}, s: &Stepper{most: tt.most}}, draft: &draft{past: c}, shown: shown,
			base: &base{agent: resolved(t, &agent.ContextWindowPolicy{MaxContextTokens: 8000, MaxOutputTokens: 2000, MinRecentMessages: new(3)})},
		}
		want := window.Request{
			History: shown, Last: last, Run: core.ID{1}, Front: &front, Opening: &opening, OpenedAt: 7,
			Fixed: tt.beside, Limit: tt.limit, Most: tt.model, Keep: 3, Reckoned: 40, Counted: 50, PerByte: 500,
		}
		got := p.reckoning(&request, b, 0)
		got.Sum = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A summary is worth making of a quarter of the threshold at least, up to the newest turn
// that is closed and not among the messages that stay, and not soon behind another one.
func TestUpToWhereASummaryIsMade(t *testing.T) {
	said := func(bytes int) []core.Message {
		return []core.Message{textOf(core.RoleUser, 10), textOf(core.RoleAssistant, bytes), textOf(core.RoleUser, 10), textOf(core.RoleAssistant, 10), textOf(core.RoleUser, 10)}
	}
	tests := []struct {
		name     string
		policy   agent.ContextWindowPolicy
		messages []core.Message // from sequence 41 on; the last is not committed
		last     core.Window
		upTo     uint64
		of       int // messages
		ok       bool
	}{
		{"a quarter of the threshold", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(158), core.Window{}, 42, 2, true},
		{"a token less", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(156), core.Window{}, 42, 2, false},
		{"to the newest turn", agent.ContextWindowPolicy{AutocompactThreshold: 400, CompactionMode: "compact_to_safe_frontier"}, said(158), core.Window{}, 44, 4, true},
		{"no messages stay", agent.ContextWindowPolicy{AutocompactThreshold: 400, CompactionRawSuffixMessages: new(0)}, said(158), core.Window{}, 44, 4, true},
		{"no turn is closed", agent.ContextWindowPolicy{AutocompactThreshold: 4}, said(158)[:1], core.Window{}, 0, 0, false},
		{"32 records behind one that is asked for", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(158), core.Window{Compact: 10}, 42, 2, true},
		{"31 records behind it", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(158), core.Window{Compact: 11}, 0, 0, false},
		{"32 records behind one that came to nothing", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(158), core.Window{Skipped: 10, Compact: 3}, 42, 2, true},
		{"31 records behind one that came to nothing", agent.ContextWindowPolicy{AutocompactThreshold: 400}, said(158), core.Window{Skipped: 11}, 0, 0, false},
	}
	for _, tt := range tests {
		places := []window.Place{{Sequence: 40}, {Sequence: 41}, {Sequence: 42}, {Sequence: 43}, {Sequence: 44}, {Sequence: 45}}[:len(tt.messages)+1]
		committed := len(tt.messages) - 1
		p := &prompt{
			draft: &draft{past: &checkpoint.Conversation{Window: tt.last, First: 1, Places: checkpoint.ListOf(places[:committed+1])}},
			shown: window.History{Messages: tt.messages, Places: places[1:]},
			base:  &base{agent: resolved(t, &tt.policy)},
		}
		upTo, of, ok := p.target(500)
		if ok != tt.ok || ok && upTo != tt.upTo {
			t.Errorf("%s: up to %d, worth it %v; want %d, %v", tt.name, upTo, ok, tt.upTo, tt.ok)
		}
		if diff := cmp.Diff(window.History{Messages: tt.messages[:tt.of], Places: places[1 : tt.of+1]}, of); diff != "" && ok {
			t.Errorf("%s: said (-want +got):\n%s", tt.name, diff)
		}
	}
}
