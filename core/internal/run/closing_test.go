package run_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// closed is what a plugin that listens to RunEnd saw.
type closed struct{ saw []string }

func (c *closed) plugin() plugin.Plugin {
	return pluginFunc{"closed", func(r *plugin.Registrar) {
		r.OnRunEnd(func(_ context.Context, end plugin.RunEnd) (state.Command, error) {
			line := string(end.Termination.Type)
			if end.Termination.Code != "" {
				line += " " + end.Termination.Code
			}
			c.saw = append(c.saw, line)
			return state.Command{}, nil
		})
	}}
}

// sequence is a model whose nth inference of all is n's, from 1.
func sequence(turn func(n int) []model.Delta) modelFunc {
	n := 0
	return func(ctx context.Context, r model.Request) iterator {
		n++
		deltas := turn(n)
		return func(yield func(model.Delta, error) bool) {
			for _, d := range deltas {
				if d.Type == 0 {
					yield(d, &model.Error{Kind: model.KindInvalid, Message: d.Text})
					return
				}
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// stopOnce stops the first turn that it sees.
func stopOnce() agent.StopPolicy {
	stopped := false
	return agent.StopFunc(func(agent.StopView) *core.Termination {
		if stopped {
			return nil
		}
		stopped = true
		return &core.Termination{Type: core.TerminationStopped, Code: "test"}
	})
}

// An ending is a way for the first run of a thread to end.
type way struct {
	name  string
	stop  bool
	gate  bool
	turn  []model.Delta                                   // the first
	after func(t *testing.T, w *world, r mailbox.Receipt) // before it is claimed again; nil: nothing
	saw   string
	end   string
}

var ways = []way{
	{name: "natural", turn: text("one"), saw: "natural_end", end: `done 1 {"type":"natural_end"} "one"`},
	{name: "stopped", turn: text("one"), stop: true, saw: "stopped test", end: `done 1 {"type":"stopped","code":"test"} "one"`},
	{name: "blocked", turn: calls("echo", `{"text":"b"}`), gate: true, saw: "blocked", end: `done 1 {"type":"blocked","detail":"not b"} ""`},
	{name: "failed", turn: []model.Delta{{Text: "broken pipe"}}, saw: "error model", end: `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
	{
		name: "cancelled", turn: calls("echo", `{"text":"a"}`), saw: "cancelled", end: `done 1 {"type":"cancelled"} ""`,
		after: func(t *testing.T, w *world, r mailbox.Receipt) {
			if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		name: "superseded", turn: calls("echo", `{"text":"a"}`), saw: "superseded", end: `done 1 {"type":"superseded"} ""`,
		after: func(t *testing.T, w *world, r mailbox.Receipt) { w.submit(t, key, "now this", mailbox.ModeInterrupt) },
	},
	{
		name: "dead-lettered", turn: calls("echo", `{"text":"a"}`), saw: "error dead_letter",
		end: `done 1 {"type":"error","code":"dead_letter","detail":"no progress in 5 attempts"} ""`,
		after: func(t *testing.T, w *world, r mailbox.Receipt) {
			for range 5 {
				w.take(t, key)
				w.reclaim(t)
			}
		},
	},
}

// begin makes a world whose first run ends in this way, and steps it once. steer
// is called while the first inference runs.
func (tt way) begin(t *testing.T, o options, steer func(w *world)) (*world, mailbox.Receipt) {
	t.Helper()
	w := &world{}
	o.model = sequence(func(n int) []model.Delta {
		if n > 1 {
			return text("another")
		}
		steer(w)
		return tt.turn
	})
	if tt.stop {
		o.stop = []agent.StopPolicy{stopOnce()}
	}
	if tt.gate {
		o.plugins = append(o.plugins, gates(blockB))
	}
	*w = *newWorld(t, o)
	receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
	w.step(t, key)
	if tt.after != nil {
		tt.after(t, w, receipt)
	}
	return w, receipt
}

func TestRunEndRunsOnceWithTheRealTermination(t *testing.T) {
	for _, tt := range ways {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen closed
				w, receipt := tt.begin(t, options{plugins: []plugin.Plugin{seen.plugin()}}, func(*world) {})
				w.finish(t, key, nil)
				want := []string{tt.saw}
				if tt.name == "superseded" { // by a run that ends, too
					want = append(want, "natural_end")
				}
				if diff := cmp.Diff(want, seen.saw); diff != "" {
					t.Errorf("RunEnd saw (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				if r := w.runRecord(t, receipt.RunID); r.Skipped {
					t.Error("the record says that RunEnd was skipped")
				}
			})
		})
	}
}

// What a person gave to a run that ended before it was read is not lost: it is
// the next run, under the id that the receipt calls the dispatch.
func TestSteeredInputOutlivesARunThatEndsByItself(t *testing.T) {
	for _, tt := range ways {
		if tt.name == "natural" || tt.name == "cancelled" || tt.name == "superseded" {
			continue
		}
		for _, listens := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", a plugin listens: ", listens), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var seen closed
					var o options
					if listens {
						o.plugins = append(o.plugins, seen.plugin())
					}
					var steered mailbox.Receipt
					steer := func(w *world) { steered = w.submit(t, key, "and this", mailbox.ModeSteer) }
					if tt.name == "dead-lettered" { // a step would have read it
						end := tt.after
						tt.after = func(t *testing.T, w *world, r mailbox.Receipt) {
							steered = w.submit(t, key, "and this", mailbox.ModeSteer)
							end(t, w, r)
						}
						steer = func(*world) {}
					}
					w, receipt := tt.begin(t, o, steer)
					if steered.RunID != receipt.RunID {
						t.Errorf("the input went to run %s, want %s", steered.RunID, receipt.RunID)
					}
					w.finish(t, key, nil)
					if got := w.end(t, key, receipt); got != tt.end {
						t.Errorf("the first run is %s, want %s", got, tt.end)
					}
					at, dispatch, ok, err := w.box.Locate(t.Context(), "t", steered.DispatchID)
					if err != nil || !ok || at != key || dispatch != steered.DispatchID {
						t.Fatalf("the next run is at %s, %v, found %v", at, err, ok)
					}
					next := mailbox.Receipt{RunID: steered.DispatchID, DispatchID: steered.DispatchID}
					if got := w.end(t, key, next); got != `done 1 {"type":"natural_end"} "another"` {
						t.Errorf("the next run is %s", got)
					}
					log := w.log(t, key)
					if diff := cmp.Diff([]string{"user: and this", "assistant: another"}, log[len(log)-2:]); diff != "" {
						t.Errorf("end of the log (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A person who ends a run ends what was said to it, visibly.
func TestSteeredInputEndsWithARunThatAPersonEnds(t *testing.T) {
	for _, tt := range ways {
		if tt.name != "cancelled" && tt.name != "superseded" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steered mailbox.Receipt
				end := tt.after
				tt.after = func(t *testing.T, w *world, r mailbox.Receipt) {
					steered = w.submit(t, key, "and this", mailbox.ModeSteer)
					end(t, w, r)
				}
				w, receipt := tt.begin(t, options{}, func(*world) {})
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				if slices.Contains(w.log(t, key), "user: and this") {
					t.Error("the input was read")
				}
				audit, err := thread.Records{}.DecodeAudit(w.record(t, recordname.Ended(steered.DispatchID)).Payload)
				if want := (thread.AuditRecord{Run: receipt.RunID, Status: core.DispatchCancelled}); err != nil || audit != want {
					t.Errorf("the input's end is %+v, %v; want %+v", audit, err, want)
				}
			})
		})
	}
}

// It may be a RunEnd hook that takes the process down: after its own step and
// two more claims the run ends without it, and its record says so.
func TestRunEndIsSkippedAtTheThirdClaimOfAClosingRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := &world{}
		*w = *newWorld(t, options{plugins: []plugin.Plugin{hooks(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) {
			ran++
			w.store.dead.Store(true) // and the process with it
			return state.Command{}, nil
		})}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		claims := 0
		for w.head(t, key).DueAt != 0 {
			if claims++; claims > 10 {
				t.Fatal("the run does not end")
			}
			_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
			w.store.dead.Store(false)
			if err != nil {
				w.reclaim(t)
			}
		}
		if claims != 4 || ran != 3 {
			t.Errorf("RunEnd ran %d times in %d claims, want 3 in 4", ran, claims)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
		if r := w.runRecord(t, receipt.RunID); !r.Skipped {
			t.Error("the record does not say that RunEnd was skipped")
		}
	})
}

// runRecord reads R#.
func (w *world) runRecord(t *testing.T, id core.ID) thread.RunRecord {
	t.Helper()
	r, err := thread.Records{}.DecodeRun(w.record(t, recordname.Run(id)).Payload)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A hook that fails at the end cannot keep the run from ending.
func TestRunEndThatFailsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{hooks(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) {
			panic("boom")
		})}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		if stepped := w.step(t, key); stepped.Outcome != thread.Done {
			t.Errorf("the step is %s, want done", stepped.Outcome)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// Every call of a run that was ended from outside has its result, adopted or not.
func TestClosingRunKeepsWhatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		w := newWorld(t, options{
			model: replies(calls("echo", `{"text":"a"}`, "last", "{}"), text("ok")),
			tools: []tool.Tool{slowly("last", &runs)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		var got events
		w.finish(t, key, got.sink)
		want := []string{
			"user: hi", `assistant: [echo {"text":"a"}][last {}]`,
			`tool: {"text":"a"}`, "tool: outcome unknown: the run was ended while the tool may have run",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		events := []string{
			`tool_call_done echo {"text":"a"}`,
			`tool_call_done last {"error":"outcome unknown: the run was ended while the tool may have run"}`,
			"step_end", "run_finish cancelled",
		}
		if diff := cmp.Diff(events, got.lines); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} ""` || runs != 1 {
			t.Errorf("the run is %s, and its last tool ran %d times", got, runs)
		}
	})
}

// An agent that is taken away ends the runs that need it, one after the other.
func TestAgentGoneAtALaterStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		steered := w.submit(t, key, "and this", mailbox.ModeSteer)
		w.stepper = w.other(t, options{agents: gone{}})
		w.finish(t, key, nil)
		want := []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: and this"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		const resolution = `{"type":"error","code":"resolution","detail":"the agent of the run is not there any more, or cannot be used"} ""`
		if got := w.end(t, key, receipt); got != `done 1 `+resolution {
			t.Errorf("the run is %s", got)
		}
		next := mailbox.Receipt{RunID: steered.DispatchID, DispatchID: steered.DispatchID}
		if got := w.end(t, key, next); got != `done 0 `+resolution {
			t.Errorf("the next run is %s", got)
		}
	})
}

// A run that a person ends needs no agent for it.
func TestCancelledRunWhoseAgentIsGoneEndsInOneClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.crash(t, commitB)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{agents: gone{}})
		if stepped := w.step(t, key); stepped.Outcome != thread.Done {
			t.Errorf("the step is %s, want done", stepped.Outcome)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A run whose turn is damaged ends at its next claim, with a result for every
// call that the head knows of, and no claim comes after that.
func TestOpenTurnThatCannotBeReadIsClosedInOneClaim(t *testing.T) {
	tests := []struct {
		name  string
		lost  string        // a record that is damaged, too
		other *thread.Entry // stands in the place of the turn
		end   string
	}{
		{"a record without a message in its place", "", &thread.Entry{}, `done 0 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`},
		{"another turn in its place", "", &thread.Entry{Message: &core.Message{Role: core.RoleAssistant}}, `done 0 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`},
		{"the turn alone", "", nil, `done 0 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`},
		{"and the run's record", "R#", nil, `done 0 {"type":"error","code":"corrupt","detail":"the record of the run is lost"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{})
				receipt := w.submit(t, key, "parallel: a, b", mailbox.ModeQueue)
				w.crash(t, commitB)
				w.spoil(t, store.LogName(2))
				if tt.lost != "" {
					w.spoil(t, recordname.Run(receipt.RunID))
				}
				if tt.other != nil {
					w.store.spoiled = nil
					w.misplace(t, 2, tt.other.Message)
				}
				w.stepper = w.other(t, options{})
				if stepped := w.step(t, key); stepped.Outcome != thread.Done {
					t.Errorf("the step is %s, want done", stepped.Outcome)
				}
				w.store.spoiled = nil
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				for seq := uint64(3); seq <= 4; seq++ {
					entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
					if err != nil || entry.Message == nil || entry.Message.ToolResult == nil {
						t.Errorf("at %d stands %+v, %v; want a result", seq, entry, err)
					}
				}
				if head := w.head(t, key); head.DueAt != 0 || head.Seq != 4 {
					t.Errorf("the head is left at %d, due at %d", head.Seq, head.DueAt)
				}
			})
		})
	}
}

// spoil damages a record, under the fence that it has.
func (w *world) spoil(t *testing.T, name string) {
	t.Helper()
	w.store.spoiled = append(w.store.spoiled, name)
}

// TestAClosingRunShowsItsResponse: it reads as done from then on, so whoever waits
// for that must find the result there.
func TestAClosingRunShowsItsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var receipt mailbox.Receipt
		var seen string
		w = newWorld(t, options{model: replies(text("one")), plugins: []plugin.Plugin{
			hooks(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) {
				seen = w.end(t, key, receipt)
				return state.Command{}, nil
			}),
		}})
		receipt = w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if want := `done 1 {"type":"natural_end"} "one"`; seen != want {
			t.Errorf("while RunEnd runs the run is %s, want %s", seen, want)
		}
	})
}

// Nothing can cancel a run that closes. A hook that waits for ever costs the time of a
// lease, once, then the run ends without what it changed.
func TestRunEndThatHangsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, seen := time.Now(), 0
		w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"hangs", func(r *plugin.Registrar) {
			r.Hook(core.PhaseRunEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
				seen++
				<-ctx.Done()
				return state.Command{}, ctx.Err()
			})
		}}}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if end := w.end(t, key, receipt); end != `done 1 {"type":"natural_end"} "You said: hi"` {
			t.Errorf("the run is %s", end)
		}
		if elapsed := time.Since(began); seen != 1 || elapsed != 30*time.Second {
			t.Errorf("RunEnd was seen %d times in %s, want once in 30 s", seen, elapsed)
		}
	})
}
