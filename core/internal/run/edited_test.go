package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// edits approves a call with other arguments.
func edits(arguments string) core.Decision {
	return core.Decision{Action: core.DecisionResume, Arguments: json.RawMessage(arguments)}
}

// Everything that follows a decision with other arguments sees these: gates, which may
// still block, the hooks before and after, and the tool. The turn keeps the model's.
func TestACallRunsWithTheArgumentsOfTheDecision(t *testing.T) {
	tests := []struct {
		name   string
		mode   core.ResumeMode
		edited string
		shown  []string
		result string
	}{
		{
			"replay", core.ResumeReplay, `{"text":"c"}`,
			[]string{`gate {"text":"a"}`, `gate {"text":"c"}`, `before {"text":"c"}`, `after {"text":"c"}`}, `ok: {"text":"c"} after about-ask`,
		},
		{
			"as the arguments", core.ResumeAsArguments, `{"text":"c"}`,
			[]string{`gate {"text":"a"}`, `gate {"text":"c"}`, `before {"text":"c"}`, `after {"text":"c"}`}, `ok: {"text":"c"} after about-ask`,
		},
		{
			"that a gate blocks", core.ResumeReplay, `{"text":"b"}`,
			[]string{`gate {"text":"a"}`, `gate {"text":"b"}`, `after {"text":"b"}`}, "blocked: blocked: not b after about-ask",
		},
		{
			"that the tool refuses", core.ResumeReplay, `{"txt":"c"}`,
			[]string{`gate {"text":"a"}`, `after {"txt":"c"}`}, `invalid: invalid arguments: property "text" is missing after about-ask`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"shown", func(r *plugin.Registrar) {
					r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
						shown = append(shown, fmt.Sprintf("gate %s", c.Call.Arguments))
						if v, err := blockB(c); v.Block {
							return v, err
						}
						v := suspends("ask")
						v.Suspend.Mode = tt.mode
						return v, nil
					})
					r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
						shown = append(shown, fmt.Sprintf("before %s", c.Call.Arguments))
						return state.Command{}, nil
					})
					r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
						shown = append(shown, fmt.Sprintf("after %s", c.Call.Arguments))
						return state.Command{}, nil
					})
				}}}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, edits(tt.edited))
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{tt.result}, w.results(t)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.shown, shown); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
				entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 2, 3)
				if err != nil {
					t.Fatal(err)
				}
				if turn := string(entries[0].Message.ToolCalls[0].Arguments); turn != `{"text":"a"}` || string(entries[1].Arguments) != tt.edited {
					t.Errorf("the turn has %s and the result %s, want those of the model and of the decision", turn, entries[1].Arguments)
				}
			})
		})
	}
}

// A later suspension of the call shows and keeps the arguments that a decision has set.
// One that sets others replaces them.
func TestALaterSuspensionKeepsTheEditedArguments(t *testing.T) {
	for _, tt := range []struct {
		name   string
		second core.Decision
		did    []string
	}{
		{"approved", approve, []string{`act {"n":7} after about-gate0`, `act {"n":7} after about-more`}},
		{"edited again", edits(`{"n":8}`), []string{`act {"n":7} after about-gate0`, `act {"n":8} after about-more`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := newWorld(t, options{
					model: replies(calls("act", `{"n":0}`), text("ok")), plugins: []plugin.Plugin{asking("act")},
					tools: []tool.Tool{noted("act", &did, func(c tool.Call) (tool.Result, error) {
						if c.Resume.Suspension == "gate0" {
							return tool.Suspended(core.TicketRequest{ID: "more", Action: "tool:ask"}), nil
						}
						return tool.NewResult("done"), nil
					})},
				})
				w.submit(t, key, "go", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, edits(`{"n":7}`))
				w.finish(t, key, nil)
				tickets, err := w.box.Tickets(t.Context(), key, w.head(t, key))
				if err != nil || len(tickets) != 1 || string(tickets[0].Arguments) != `{"n":7}` {
					t.Fatalf("tickets %+v, %v; want one with the edited arguments", tickets, err)
				}
				w.mustDecide(t, 0, tt.second)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.did, did); diff != "" {
					t.Errorf("executions (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Two programs share a thread. The older one does not know edited arguments: it never runs
// the model's instead, neither in a claim of its own nor in one that it holds when the
// decision comes. The newer one then runs the call once, with the edited ones.
func TestAnOlderProgramNeverRunsAnEditedCall(t *testing.T) {
	for _, tt := range []struct {
		name string
		held bool
	}{{"it claims", false}, {"it holds the claim", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				newer := options{
					model: replies(calls("act", `{"n":0}`, "other", "{}"), text("ok")), plugins: []plugin.Plugin{asking("act")}, mode: agent.ParallelStreaming,
				}
				older := newer
				w := &world{}
				decides := func() {
					head := w.head(t, key)
					tickets, err := w.box.Tickets(t.Context(), key, head)
					if err != nil || len(tickets) != 1 {
						t.Fatalf("tickets %+v, %v", tickets, err)
					}
					if _, err := w.box.Decide(t.Context(), key, mailbox.Deciding{Target: tickets[0].CallID, Decision: edits(`{"n":7}`)}); err != nil {
						t.Fatal(err)
					}
				}
				other := toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
					if tt.held {
						time.Sleep(time.Second) // the ticket is in the head by then
						decides()
						time.Sleep(5 * time.Second) // and its look at the head has come
					}
					return tool.NewResult("other"), nil
				}}
				newer.tools = []tool.Tool{noted("act", &did, nil), other}
				older.tools, older.records = newer.tools, thread.Records{Schemas: thread.Schemas{Reads: 1, Writes: 1}}
				*w = *newWorld(t, newer)
				receipt := w.submit(t, key, "go", mailbox.ModeQueue)
				old := w.other(t, older)
				if _, err := old.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
					t.Fatal(err)
				}
				if !tt.held {
					decides()
				}
				if head := w.head(t, key); head.Schema != 2 {
					t.Errorf("the head has schema %d, want 2", head.Schema)
				}
				time.Sleep(time.Minute)
				before := did
				w.withRecords(t, older)
				if _, claimed, err := w.box.Claim(t.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true); claimed || err != nil {
					t.Errorf("the older program's claim: %v, %v; want none", claimed, err)
				}
				w.withRecords(t, newer)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{`act {"n":7} after ` + onlyDecision(t, w)}, did); diff != "" || before != nil {
					t.Errorf("before the newer program: %q; executions (-want +got):\n%s", before, diff)
				}
				if end := w.end(t, key, receipt); end != `done 2 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", end)
				}
			})
		})
	}
}

// onlyDecision is the id of the decision that the result of call 0 names.
func onlyDecision(t *testing.T, w *world) string {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Decision
}
