package scripted_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/tool"
)

// digs is a tool whose results are long, so that a window soon has no room for them.
func digs(t *testing.T, steer func(ctx context.Context, call tool.Call, n int)) tool.Tool {
	t.Helper()
	return tool.New(tool.Spec{Name: "dig", Description: "Digs."}, func(ctx context.Context, call tool.Call, a struct{ N int }) (string, error) {
		if steer != nil {
			steer(ctx, call, a.N)
		}
		return fmt.Sprint("found ", a.N, strings.Repeat(" earth", 600)), nil
	})
}

func dig(n int) core.ToolCall { return scripted.Call("dig", struct{ N int }{n}) }

// told lists what a run has said, and the calls that it has made.
func told(messages []core.Message) (lines []string) {
	for _, m := range messages {
		if m.Role != core.RoleAssistant {
			continue
		}
		line := m.Text()
		for _, c := range m.ToolCalls {
			line += " " + c.Name + string(c.Arguments)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// requested notes what the requests of steps show of the turns before them.
type requested struct {
	model     model.Model
	turns     map[int]int // by step
	summaries int
}

func (r *requested) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	conversation, said := cutturn.Continued(request.Messages)
	switch {
	case request.Step == 0:
		r.summaries++
	case said == "":
		r.turns[request.Step] = len(told(conversation))
	}
	return r.model.Stream(ctx, request)
}

func newRuntime(t *testing.T, spec agent.Spec, m model.Model, tools ...tool.Tool) *host.Host {
	t.Helper()
	spec.ID, spec.Model = "digger", "m"
	r, err := host.New(host.Options{Agents: agent.Parts{Specs: []agent.Spec{spec}, Models: map[string]agent.ModelBinding{"m": {Model: m, Facts: model.Facts{ContextWindow: 100_000}}}, Tools: tools}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goes sends the digger off, and returns what came of its run.
func goes(t *testing.T, r *host.Host) (host.Result, error) {
	t.Helper()
	return r.Play(t.Context(), mailbox.Submission{Messages: []core.Message{core.UserMessage("go")}}, nil, nil)
}

// journey are six turns, some of them with calls side by side.
func journey() model.Model {
	return scripted.Turns(
		scripted.Turn{Text: "1", Calls: []core.ToolCall{dig(1), dig(2)}},
		scripted.Turn{Text: "2", Calls: []core.ToolCall{dig(3)}},
		scripted.Turn{Text: "three", Cut: true, Calls: []core.ToolCall{dig(4)}},
		scripted.Turn{Text: "4", Calls: []core.ToolCall{dig(5), dig(6)}},
		scripted.Turn{Text: "5", Calls: []core.ToolCall{dig(7)}},
		scripted.Turn{Text: "done"},
	)
}

func TestARunSaysItsTurnsInOrder(t *testing.T) {
	window := func(c agent.ContextWindowPolicy) *agent.ContextWindowPolicy {
		c.MaxContextTokens, c.MaxOutputTokens, c.MinRecentMessages = 3000, 100, new(0)
		return &c
	}
	tests := []struct {
		name  string
		spec  agent.Spec
		steer int    // the call that says something more to the run
		shown string // how many of the run's turns each request shows
		sums  int    // requests for summaries
	}{
		{"one after the other", agent.Spec{}, 0, "map[1:0 2:1 3:2 4:3 5:4 6:5]", 0},
		{"side by side", agent.Spec{ExecutionMode: agent.ParallelStreaming}, 0, "map[1:0 2:1 3:2 4:3 5:4 6:5]", 0},
		{"steered", agent.Spec{}, 5, "map[1:0 2:1 3:2 4:3 5:4 6:5]", 0},
		{"in a window that drops old messages", agent.Spec{Context: window(agent.ContextWindowPolicy{})}, 0, "map[1:0 2:1 3:2 4:3 5:2 6:3]", 0},
		{"in a window, steered", agent.Spec{Context: window(agent.ContextWindowPolicy{})}, 7, "map[1:0 2:1 3:2 4:3 5:2 6:3]", 0},
		{"with a summary of what may be left out", agent.Spec{Context: window(agent.ContextWindowPolicy{Compaction: agent.CompactInline, AutocompactThreshold: 1500})}, 0, "map[1:0 2:1 3:1 4:2 5:1 6:1]", 3},
		{"with a summary of everything", agent.Spec{Context: window(agent.ContextWindowPolicy{Compaction: agent.CompactInline, AutocompactThreshold: 1500, CompactionMode: "compact_to_safe_frontier"})}, 7, "map[1:0 2:0 3:1 4:0 5:0 6:1]", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r *host.Host
			steer := func(ctx context.Context, call tool.Call, n int) {
				if n != test.steer {
					return
				}
				_, err := r.Submit(ctx, mailbox.Submission{
					Thread: call.Thread, Opening: mailbox.Opening{AgentID: "digger"}, Mode: mailbox.ModeSteer, Messages: []core.Message{core.UserMessage("deeper")},
				})
				if err != nil {
					t.Error(err)
				}
			}
			seen := &requested{model: journey(), turns: map[int]int{}}
			r = newRuntime(t, test.spec, seen, digs(t, steer))
			result, err := goes(t, r)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{`1 dig{"N":1} dig{"N":2}`, `2 dig{"N":3}`, `three dig{"N":4}`, `4 dig{"N":5} dig{"N":6}`, `5 dig{"N":7}`, "done"}
			if diff := cmp.Diff(want, told(result.Messages)); diff != "" {
				t.Error(diff)
			}
			if got := fmt.Sprint(seen.turns); got != test.shown || seen.summaries != test.sums {
				t.Errorf("requests show %s turns and ask for %d summaries, want %s and %d", got, seen.summaries, test.shown, test.sums)
			}
		})
	}
}

func TestEachRunOfAThreadHasCallsOfItsOwn(t *testing.T) {
	r := newRuntime(t, agent.Spec{}, scripted.Turns(
		scripted.Turn{Calls: []core.ToolCall{dig(1), dig(2)}}, scripted.Turn{Text: "done"},
		scripted.Turn{Input: "thanks", Text: "bye"},
	), digs(t, nil))
	first, err := goes(t, r)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Play(t.Context(), first.Next("go on"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	third, err := r.Play(t.Context(), second.Next("thanks"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range append(first.Messages, second.Messages...) {
		for _, c := range m.ToolCalls {
			ids[c.ID] = true
		}
	}
	if len(ids) != 4 || second.Text != "done" || third.Text != "bye" {
		t.Errorf("calls %v, texts %q and %q; want four ids, done and bye", ids, second.Text, third.Text)
	}
}

func TestARunThatAsksForMoreTurnsFails(t *testing.T) {
	r := newRuntime(t, agent.Spec{}, scripted.Turns(scripted.Turn{Calls: []core.ToolCall{dig(1)}}), digs(t, nil))
	_, err := goes(t, r)
	if err == nil || !strings.Contains(err.Error(), "scripted turns: step 2 of the run has no turn, there are 1") {
		t.Errorf("the error is %v", err)
	}
}

func TestATurnThatFailsDoesSoAgain(t *testing.T) {
	r := newRuntime(t, agent.Spec{Retry: agent.Retry{MaxRetries: new(2), OverloadedBackoffBaseMS: new(0)}}, scripted.Turns(
		scripted.Turn{Text: "I look.", Err: &model.Error{Kind: model.KindOverloaded, Message: "come back later"}},
	))
	result, err := goes(t, r)
	if err == nil || result.Termination.Code != "model" {
		t.Errorf("%+v, %v; want an end with the code model", result.Termination, err)
	}
}

func TestTurnsThatCannotBeSaidAreFoundAtTheStart(t *testing.T) {
	_, err := registry.New(agent.Parts{
		Specs:  []agent.Spec{{ID: "a", Model: "m"}},
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.Turns(scripted.Turn{Calls: []core.ToolCall{{}}})}},
	})
	if fmt.Sprint(err) != `resolving agent "a": model "m": scripted turns: turn 1: call 0 has no name` {
		t.Errorf("the error is %v", err)
	}
}
