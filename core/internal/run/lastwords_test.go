package run_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// pooled is a registry whose agent has a pool of one model.
func pooled(t *testing.T, m model.Model) *registry.Registry {
	t.Helper()
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m-east": {Model: m, Name: "east-1", Provider: "east"}},
		Pools:  []agent.ModelPoolSpec{{ID: "pool", Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{{Model: "m-east"}}}},
		Tools:  []tool.Tool{echoTool(t)}, Specs: []agent.Spec{{ID: "demo", Model: "pool"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return agents
}

// Last words name the member of the pool that said them, unless what their input was to take
// back stays: the model was chosen for a thread without that.
func TestLastWordsNameTheMemberThatSaidThem(t *testing.T) {
	tests := []struct {
		name      string
		supersede uint64
		refused   int
		member    string
	}{
		{"to an input that takes nothing back", 0, 0, "m-east"},
		{"to one that takes nothing back, in the last form", 0, int(thread.FormLeast), "m-east"},
		{"to one that takes the thread back", 1, 0, "m-east"},
		{"to one that was to", 1, int(thread.FormLeast), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{agents: pooled(t, turns(one, hangs))})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				sent := requesting("other", 0)
				sent.Opening.Supersede = tt.supersede
				receipt, err := w.box.Submit(t.Context(), sent)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
				w.refuseClose(tt.refused, store.ErrTooLarge)
				w.finish(t, key, nil)
				last := w.entry(t, w.head(t, key).Seq)
				if last.Message == nil || last.Message.Text() != "half" || last.Message.Provider != "east" || last.Message.Model != "east-1" {
					t.Fatalf("the last words are %+v", last.Message)
				}
				member := ""
				if last.Member != nil {
					member = last.Member.Model
				}
				if member != tt.member {
					t.Errorf("they are of %q, want %q", member, tt.member)
				}
			})
		})
	}
}

// A turn that is no JSON in a part that nobody but its provider reads ends the run, and nothing
// of it is stored.
func TestARunEndsWhoseRecordsCannotBeEncoded(t *testing.T) {
	const end = `{"type":"error","code":"encoding","detail":"what the run made cannot be stored"} ""`
	broken := json.RawMessage("{")
	tests := []struct {
		name    string
		options options
		end     string
	}{
		{"what a provider signs", options{model: replies([]model.Delta{{Type: model.DeltaReasoning, Text: "hm"}, {Type: model.DeltaReasoning, Echo: broken}, say("ok"), stopped})}, "done 0 " + end},
		{"what it signs a call with", options{model: replies([]model.Delta{
			{Type: model.DeltaToolStart, Name: "echo", Echo: broken}, {Type: model.DeltaToolArgument, Text: `{"text":"a"}`}, called,
		})}, "done 0 " + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				lines := append(w.log(t, key), w.end(t, key, receipt))
				if diff := cmp.Diff([]string{"user: hi", tt.end}, lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A process that has cut what an end stores goes on with what the tools of the run have said.
func TestANextRunIsShownResultsThatNoEndHasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []int
		says := replies(calls("pile", "{}", "nap", "{}"), text("ok"))
		w := least(t, options{mode: agent.Sequential, tools: []tool.Tool{pile(9000, 0), nap}, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			for _, m := range r.Messages {
				if m.ToolResult != nil {
					shown = append(shown, len(m.ToolResult.Text()))
				}
			}
			return says(ctx, r)
		})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.cut(t, time.Second, false); err != nil {
			t.Fatal(err)
		}
		cancelRun(t, w, &trace{}, receipt)
		w.finish(t, key, nil)
		w.submit(t, key, "more", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]int{9002, len("outcome unknown: the run was ended while the tool may have run")}, shown); diff != "" {
			t.Errorf("bytes of the results that a model is shown (-want +got):\n%s", diff)
		}
	})
}
