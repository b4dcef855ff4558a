package run_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// chronicle is what the hooks and tools of a round leave in the state, and whom
// they asked to act.
type chronicle struct {
	key    state.Key[[]string, string]
	effect plugin.Effect[string]
	mu     sync.Mutex // BeforeToolExecute runs side by side
	asked  []string
	did    []string
}

func newChronicle() *chronicle {
	return &chronicle{
		key:    state.List[string]("chronicle", state.ScopeThread),
		effect: plugin.Effect[string]{Name: "act"},
	}
}

func (h *chronicle) tells(what string) state.Command {
	return state.Combine(h.key.Update(what), h.effect.Emit(what))
}

// plugin leaves something at the gate, before and after each call; ask waits.
func (h *chronicle) plugin() plugin.Plugin {
	return pluginFunc{"chronicle", func(r *plugin.Registrar) {
		r.Key(h.key)
		h.effect.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
			h.did = append(h.did, what)
			return nil
		})
		sees := func(what string) state.Command {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked = append(h.asked, what)
			return h.tells(what)
		}
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			v := plugin.Allow
			if c.Call.Name == "ask" {
				v = suspends("ask")
				v.Suspend.Mode = core.ResumeAsResult
			}
			return v.With(sees("gate " + c.Call.Name)), nil
		})
		r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
			return sees("before " + c.Call.Name), nil
		})
		r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
			return sees("after " + c.Call.Name), nil
		})
	}}
}

func (h *chronicle) tool(name string) tool.Tool {
	return toolFunc{name: name, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		afterSiblings(c)
		result := tool.NewResult(name)
		result.Command = h.tells("tool " + name)
		return result, nil
	}}
}

// value is the state's list, folded from the log alone.
func (w *world) chronicle(t *testing.T) []string {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	fold := state.Snapshot{}.Fold()
	for _, e := range entries {
		if len(e.Patch) > 0 {
			if err := fold.Apply(e.Patch, e.Revision); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := newChronicle().key.Read(fold.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What a round that waits has come to stands in a record: whoever goes on asks no
// hook again, though it is another process, and repeats no effect. What the gate of
// the call that waits has asked for counts with its result.
func TestOpenRoundGoesOnFromItsRecord(t *testing.T) {
	first := []string{"gate done", "before done", "tool done", "after done"}
	second := []string{"gate ask", "after ask"}
	third := []string{"gate last", "before last", "tool last", "after last"}
	join := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	// Side by side AfterToolExecute runs behind all that the calls ask for.
	beside := join(first[:3], third[:3], first[3:], third[3:], second)
	tests := []struct {
		mode  agent.ExecutionMode
		state []string
		did   []string
		asked []string
	}{
		{
			agent.Sequential, join(first, second, third), join(first, second, third),
			[]string{"gate done", "before done", "after done", "gate ask", "after ask", "gate last", "before last", "after last"},
		},
		{
			agent.ParallelBatchApproval, beside, join(first, third, second),
			[]string{"gate done", "gate ask", "gate last", "before done", "before last", "after done", "after last", "after ask"},
		},
		{
			agent.ParallelStreaming, beside, join(first, third, second),
			[]string{"gate done", "gate ask", "gate last", "before done", "before last", "after done", "after last", "after ask"},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newChronicle()
				o := options{
					mode: tt.mode, model: replies(calls("done", "{}", "ask", "{}", "last", "{}"), text("ok")),
					tools: []tool.Tool{h.tool("done"), h.tool("ask"), h.tool("last")}, plugins: []plugin.Plugin{h.plugin()},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.stored(t, "C#", receipt.RunID); len(got) != 2 {
					t.Errorf("stored are %q, want a ticket and the round", got)
				}
				w.stepper = w.other(t, o)
				w.mustDecide(t, 1, core.Decision{Action: core.DecisionResume, Payload: []byte(`"yes"`)})
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.state, w.chronicle(t)); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.did, h.did); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
				if len(h.asked) == len(tt.asked) && tt.mode != agent.Sequential && h.asked[3] == "before last" { // side by side
					h.asked[3], h.asked[4] = h.asked[4], h.asked[3]
				}
				if diff := cmp.Diff(tt.asked, h.asked); diff != "" {
					t.Errorf("hooks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A run that is cancelled while it waits keeps what its round has come to, also in a
// program that has none of its plugins and tools any more.
func TestClosingKeepsWhatAnOpenRoundHasComeTo(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("plugin gone %t", gone), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newChronicle()
				o := options{
					model: replies(calls("done", "{}", "ask", "{}")), tools: []tool.Tool{h.tool("done"), h.tool("ask")}, plugins: []plugin.Plugin{h.plugin()},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if gone {
					o.tools, o.plugins = nil, nil
				}
				w.stepper = w.other(t, o)
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				want := []string{"gate done", "before done", "tool done", "after done"}
				if diff := cmp.Diff(want, w.chronicle(t)); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want, h.did); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{`ok: "done"`, "not_executed: no result: the run was ended first (cancelled)"}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The record of a round counts for the turn that it names alone, and its absence is
// damage.
func TestRoundOfAnotherTurnIsNotBelieved(t *testing.T) {
	const another = "the open round of version 4 is not that of the turn at 2: "
	encoded := func(r thread.RoundRecord) []byte {
		payload, err := thread.Records{}.Encode("round", r)
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	tests := []struct {
		name    string
		payload []byte // nil: it is lost
		logged  string
	}{
		{"lost", nil, "is missing"},
		{"of another turn", encoded(thread.RoundRecord{Turn: 7, Merged: []int{0}}), another},
		{"with a call that is not done", encoded(thread.RoundRecord{Turn: 2, Merged: []int{1}}), another},
		{"with a call that the turn has not", encoded(thread.RoundRecord{Turn: 2, Merged: []int{2}}), another},
		{"with a patch of other values", encoded(thread.RoundRecord{Turn: 2, Patch: state.Patch{{Op: "remove", Path: "/thread/nothing"}}, Revision: 4}), "open round: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := newWorld(t, options{
					model: replies(calls("echo", `{"text":"a"}`, "ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}},
					plugins: []plugin.Plugin{asking("ask")}, logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				name := recordname.Round(receipt.RunID, w.head(t, key).Run.Round)
				w.mustDecide(t, 1, deny)
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, asked string) (store.Record, bool, error) {
					r, ok, err := w.store.Backend.Get(ctx, key, asked)
					if asked == name {
						r.Payload, ok = tt.payload, tt.payload != nil
					}
					return r, ok, err
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 1 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""` {
					t.Errorf("the run is %s", got)
				}
				if !strings.Contains(log.String(), tt.logged) {
					t.Errorf("logged:\n%swant %s", &log, tt.logged)
				}
			})
		})
	}
}

// An agent may get another mode while its round waits. The run goes on, and is not
// woken for nothing again and again.
func TestModeThatChangesWhileARoundWaits(t *testing.T) {
	for _, from := range modes[1:] {
		for n := range len(modes) * len(orders) {
			to, order := modes[n/2], orders[n%2]
			t.Run(fmt.Sprintf("%s to %s, decided in the order %v", from, to, order), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var did []string
					o := options{
						model: replies(calls("act", `{"n":0}`, "act", `{"n":1}`), text("ok")), mode: from,
						tools: []tool.Tool{noted("act", &did, nil)}, plugins: []plugin.Plugin{asking("act")},
					}
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
					o.mode = to
					w.stepper = w.other(t, o)
					w.mustDecide(t, order[0], approve)
					w.finish(t, key, nil)
					w.mustDecide(t, order[1], approve)
					w.finish(t, key, nil)
					if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` || len(did) != 2 {
						t.Errorf("the run is %s after %q", got, did)
					}
				})
			})
		}
	}
}

// A result that an earlier claim has announced is not announced again by the one
// that goes on after a decision.
func TestResultsAreAnnouncedOnceOverAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("echo", `{"text":"a"}`, "ask", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("ask", false, new(int))}, plugins: []plugin.Plugin{asking("ask")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var got events
		var positions []bool
		sink := history.Sink(func(e core.Event) error {
			positions = append(positions, e.Position != "")
			return got.sink(e)
		})
		w.finish(t, key, sink)
		got.lines, positions = nil, nil
		w.mustDecide(t, 1, approve)
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, sink)
		if err != nil || stepped.Outcome != thread.Yield {
			t.Fatalf("the step is %+v, %v", stepped, err)
		}
		if diff := cmp.Diff([]string{"tool_call_resumed ask", `tool_call_done ask "ask ran"`, "step_end"}, got.lines); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{false, true, true}, positions); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
	})
}

// The effects of a call that is done run with the write that says so, while others
// wait: when a ticket is announced beside a call that still runs, or when the step
// ends to wait. They are never repeated by who goes on.
func TestEffectsOfACallThatIsDoneWhileOthersWait(t *testing.T) {
	late := toolFunc{name: "late", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if c.Resume != nil {
			return tool.NewResult("ok"), nil
		}
		time.Sleep(time.Second)
		return tool.Suspended(core.TicketRequest{Mode: core.ResumeReplay}), nil
	}}
	tests := []struct {
		name  string
		mode  agent.ExecutionMode
		turn  []string
		waits int
		want  []string
	}{
		{"suspend", agent.ParallelStreaming, []string{"tells", "1", "late", "{}", "nap", "{}"}, 1, []string{"tool 1: running [done suspended new]"}},
		{"wait", agent.Sequential, []string{"tells", "1", "late", "{}", "nap", "{}"}, 1, []string{"tool 1: waiting [done suspended new]"}},
		{"commit B", agent.Sequential, []string{"late", "1", "tells", "{}"}, 0, []string{"tool {}: running []"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := &world{}
				o := options{
					mode: tt.mode, model: replies(calls(tt.turn...), text("ok")), tools: []tool.Tool{tells, late, nap},
					plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
						plugin.Effect[string]{Name: "tell"}.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
							did = append(did, what+": "+w.stands(t))
							return nil
						})
					}}},
				}
				*w = *newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, tt.waits, approve)
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, did); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A person may cancel, and a process may die, while a tool waits that must not run
// twice: it has not acted, so it may be asked again.
func TestAtMostOnceToolThatWaits(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				ask := toolFunc{name: "ask", atMostOnce: true, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					if ran++; c.Resume == nil {
						return tool.Suspended(core.TicketRequest{}), nil
					}
					return tool.NewResult("ok"), nil
				}}
				o := options{mode: mode, model: replies(calls("ask", "{}"), text("ok")), tools: []tool.Tool{ask}}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.stands(t); got != "waiting [suspended]" {
					t.Errorf("the run is %s", got)
				}
				w.stepper = w.other(t, o)
				w.mustDecide(t, 0, approve)
				w.finish(t, key, nil)
				if got := w.results(t); len(got) != 1 || got[0][:9] != `ok: "ok" ` || ran != 2 {
					t.Errorf("the result is %q after %d executions", got, ran)
				}
			})
		})
	}
}

// A tool that comes to wait when the step's time is over has its ticket all the same:
// marked as one that may have acted, it would be unknown to the next claim.
func TestToolThatWaitsWhenTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := toolFunc{name: "ask", atMostOnce: true, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			if c.Resume == nil {
				time.Sleep(11 * time.Second)
				return tool.Suspended(core.TicketRequest{}), nil
			}
			return tool.NewResult("ok"), nil
		}}
		w := newWorld(t, options{model: replies(calls("ask", "{}"), text("ok")), tools: []tool.Tool{ask}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.cut(t, 10*time.Second, false); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if got := w.stands(t); got != "waiting [suspended]" {
			t.Errorf("the run is %s", got)
		}
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		if got := w.results(t); len(got) != 1 || got[0][:9] != `ok: "ok" ` {
			t.Errorf("the result is %q", got)
		}
	})
}

// The gate of a call that is denied changes nothing. The totals go on over the wait, and a
// call that failed before it is counted once.
func TestGateOfADeniedCallChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newChronicle()
		o := options{
			model: replies(calls("fails", "{}", "ask", "{}"), text("ok")), tools: []tool.Tool{fails, h.tool("ask")}, plugins: []plugin.Plugin{h.plugin()},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.stepper = w.other(t, o)
		w.mustDecide(t, 1, deny)
		w.step(t, key)
		if diff := cmp.Diff([]string{"gate fails", "before fails", "after fails"}, w.chronicle(t)); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(w.head(t, key).Seq)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		if entry.Totals == nil || entry.Totals.Failures != 2 || entry.Totals.Steps != 1 {
			t.Errorf("the step's totals are %+v, want two failures in one step", entry.Totals)
		}
	})
}

// A call's tool sees what its gate and BeforeToolExecute have changed, and
// AfterToolExecute sees the result among the messages, in every mode.
func TestWhatACallSeesOfItself(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newChronicle()
				var saw []string
				look := toolFunc{name: "look", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					list, err := h.key.Read(c.Snapshot)
					saw = append(saw, fmt.Sprint(list))
					return tool.NewResult("ok"), err
				}}
				w := newWorld(t, options{
					mode: mode, model: replies(calls("look", "{}"), text("ok")), tools: []tool.Tool{look},
					plugins: []plugin.Plugin{h.plugin(), hooks(core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
						saw = append(saw, fmt.Sprintf("%d messages, the last is the %s's", len(c.Messages), c.Messages[len(c.Messages)-1].Role))
						return state.Command{}, nil
					})},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if diff := cmp.Diff([]string{"[gate look before look]", "3 messages, the last is the tool's"}, saw); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
