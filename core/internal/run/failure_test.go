package run_test

import (
	"context"
	"errors"
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
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

var errPassing = errors.New("the store is too slow")

// Whichever read of a cold step fails, the step is given back with nothing
// written, and the next one comes to the same end.
func TestReadThatFailsCostsATryAndNothingElse(t *testing.T) {
	cancel := func(t *testing.T, w *world, r mailbox.Receipt) {
		if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		before func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt
		window int    // in tokens
		spare  string // a read that is not needed
		log    []string
		end    string
	}{
		{
			name:   "a run that begins",
			before: func(_ *testing.T, _ *world, r mailbox.Receipt) mailbox.Receipt { return r },
			log:    []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state"},
			end:    `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "an open round",
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.crash(t, commitB)
				return r
			},
			log: []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state"},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "an open round of a cancelled run",
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				if _, err := w.cut(t, time.Second, false); err != nil {
					t.Fatal(err)
				}
				cancel(t, w, r)
				return r
			},
			log: []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, "tool: outcome unknown: the run was ended while the tool may have run"},
			end: `done 1 {"type":"cancelled"} ""`,
		},
		{
			name: "an open turn that is damaged, of a cancelled run", spare: recordname.Snapshot,
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.crash(t, commitB)
				cancel(t, w, r)
				w.spoil(t, store.LogName(2))
				return r
			},
			log: []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`},
			end: `done 0 {"type":"cancelled"} ""`,
		},
		{
			name: "a cancelled run that never began",
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.takeOver(t)
				cancel(t, w, r)
				w.reclaim(t)
				return r
			},
			log: []string{"user: hi"},
			end: `done 0 {"type":"cancelled"} ""`,
		},
		{
			name: "a cancelled run that never began, and takes the log back",
			before: func(t *testing.T, w *world, _ mailbox.Receipt) mailbox.Receipt {
				w.finish(t, key, nil)
				w.submit(t, key, "more", mailbox.ModeQueue)
				w.finish(t, key, nil)
				r, err := w.box.Submit(t.Context(), mailbox.Submission{
					Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 8}, Messages: []core.Message{core.UserMessage("other")},
				})
				if err != nil {
					t.Fatal(err)
				}
				w.takeOver(t)
				cancel(t, w, r)
				w.reclaim(t)
				return r
			},
			log: []string{
				"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state",
				"user: more", "assistant: ok", "state", "state", "user: other",
			},
			end: `done 0 {"type":"cancelled"} ""`,
		},
		{
			name: "two inputs that were steered to the run",
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.step(t, key)
				w.submit(t, key, "and this", mailbox.ModeSteer)
				w.submit(t, key, "and that", mailbox.ModeSteer)
				return r
			},
			log: []string{
				"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state",
				"user: and this", "user: and that", "assistant: ok", "state",
			},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "a run whose beginning is not in the window", window: 1,
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.step(t, key)
				return r
			},
			log: []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state"},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "a run whose record is lost",
			before: func(t *testing.T, w *world, r mailbox.Receipt) mailbox.Receipt {
				w.step(t, key)
				w.spoil(t, recordname.Run(r.RunID))
				return r
			},
			log: []string{"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state"},
			end: `done 1 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`,
		},
		{
			name: "a run that takes the log back",
			before: func(t *testing.T, w *world, _ mailbox.Receipt) (r mailbox.Receipt) {
				for _, text := range []string{"other", "another"} {
					w.finish(t, key, nil)
					var err error
					if r, err = w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 1}, Messages: []core.Message{core.UserMessage(text)},
					}); err != nil {
						t.Fatal(err)
					}
				}
				return r
			},
			log: []string{
				"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state",
				"state", "user: other", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state",
				"state", "user: another", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "state", "assistant: ok", "state",
			},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for failing, failed := 1, true; failed; failing++ {
				synctest.Test(t, func(t *testing.T) {
					var saw []string
					var seen closed
					o := options{
						model:   replies(calls("echo", `{"text":"a"}`, "nap", "{}"), text("ok"), text("ok")),
						tools:   []tool.Tool{nap},
						plugins: []plugin.Plugin{counters(&saw, inThread), seen.plugin()},
						window:  tt.window,
					}
					w := newWorld(t, o)
					receipt := tt.before(t, w, w.submit(t, key, "hi", mailbox.ModeQueue))
					w.stepper = w.other(t, o)
					head, reads, lost, ends := w.take(t, key), 0, "", len(seen.saw)
					w.store.read = func(what string) error {
						if reads++; reads == failing {
							lost = what
							return errPassing
						}
						return nil
					}
					stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
					w.store.read = nil
					failed = lost != ""
					given := stepped.Retry && len(seen.saw) == ends && stepped.Head.Seq == head.Seq && stepped.Head.Version > head.Version
					if err != nil || given != failed && (!failed || lost != tt.spare) {
						t.Errorf("the step whose read %d of %s fails is %+v, %v", failing, lost, stepped, err)
					}
					w.finish(t, key, nil)
					w.store.spoiled = nil
					if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
						t.Errorf("log after read %d failed (-want +got):\n%s", failing, diff)
					}
					if got := w.end(t, key, receipt); got != tt.end {
						t.Errorf("after read %d failed the run is %s", failing, got)
					}
					if agent := w.runRecord(t, receipt.RunID).AgentID; agent != "demo" {
						t.Errorf("after read %d failed the run is agent %q's", failing, agent)
					}
				})
			}
		})
	}
}

// What a tool came to is stored before its run fails: else the log would say
// that it has no result.
func TestResultIsStoredBeforeTheRunFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, refused := 0, 0
		w := newWorld(t, options{
			model: replies(calls("fatal", "{}", "count", "{}")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{fatal, counted("count", false, &ran)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if refused++; refused <= 2 { // at once, and when the run fails
				return core.Errorf(core.CodeInvalid, "no such table")
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		if stepped := w.step(t, key); !stepped.Retry {
			t.Errorf("the step is %+v, want it given back", stepped)
		}
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [fatal {}][count {}]", "tool: execution failed: the tool ended the run", `tool: "count ran"`}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); ran != 1 || got != `done 1 {"type":"error","code":"tool","detail":"call `+shortCallID(receipt.RunID)+` of tool fatal: it ended the run with an error"} ""` {
			t.Errorf("the tool ran %d times, and the run is %s", ran, got)
		}
	})
}

// A thread that cannot be read any more when its run closes is shown to no hook.
func TestRunEndDoesNotRunOnAThreadThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := 0
		o := options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
			r.Hook(core.PhaseStepEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
				<-ctx.Done()
				return state.Command{}, ctx.Err()
			})
			r.Hook(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) {
				ends++
				return state.Command{}, nil
			})
		}}}}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.cut(t, time.Second, false) // the call is done then
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		w.spoil(t, store.LogName(1))
		w.stepper = w.other(t, o)
		if stepped := w.step(t, key); stepped.Outcome != thread.Done || ends != 0 {
			t.Errorf("the step is %s, and RunEnd ran %d times; want done without it", stepped.Outcome, ends)
		}
		if got := w.end(t, key, receipt); got != `done 0 {"type":"cancelled"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// What the calls of a whole round have changed counts when the step fails behind it, also
// where a claim before had done them.
func TestAFailedStepKeepsWhatItsRoundHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims := 0
		counts := state.Key[int, int]{Name: "n", Scope: state.ScopeThread, Apply: func(v, u int) int { return v + u }}
		o := options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
			r.Key(counts)
			r.OnBeforeTool(func(context.Context, plugin.BeforeTool) (state.Command, error) { return counts.Update(1), nil })
			r.Hook(core.PhaseStepEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
				if claims++; claims == 1 {
					<-ctx.Done()
					return state.Command{}, ctx.Err()
				}
				return state.Command{}, errors.New("not this way")
			})
		}}}}
		w := newWorld(t, o)
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.cut(t, time.Second, false) // the call is done then
		w.finish(t, key, nil)
		want := []string{"user: echo: a", "assistant: [echo {\"text\":\"a\"}]", `tool: {"text":"a"}`, "state"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if e := w.entry(t, 4); !slices.ContainsFunc(e.Patch, func(op state.Operation) bool { return op.Path == "/thread/n" }) {
			t.Errorf("the end changes %s, want the count of BeforeToolExecute", e.Patch)
		}
	})
}

// The calls of a run that is closed are shown to no hook, and no tool runs again,
// in however many claims it closes.
func TestCallsOfAClosingRunAreShownToNoHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, ends := 0, 0
		w := newWorld(t, options{
			model: replies(calls("count", "{}", "nap", "{}")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("count", false, &ran), nap},
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				r.Hook(core.PhaseAfterToolExecute, func(context.Context, plugin.Context) (state.Command, error) {
					t.Error("a hook was shown a result")
					return state.Command{}, nil
				})
				r.Hook(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) {
					ends++
					return state.Command{}, nil
				})
			}}},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		w.refuseClose(7, store.ErrThrottled)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		if stepped := w.step(t, key); !stepped.Retry {
			t.Errorf("the step is %+v, want it given back", stepped)
		}
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} ""` || ran != 1 || ends != 1 {
			t.Errorf("the run is %s, the tool ran %d times and RunEnd %d times", got, ran, ends)
		}
	})
}

// A result that cannot be put for a passing fault is put again up to six times.
func TestPutIsTriedSevenTimes(t *testing.T) {
	for failures, given := range map[int]bool{6: false, 7: true} {
		synctest.Test(t, func(t *testing.T) {
			first, last, puts := 0, 0, 0
			w := newWorld(t, options{
				model: replies(calls("first", "{}", "last", "{}"), text("ok")),
				tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
			})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
				if puts++; puts <= failures {
					return errPassing
				}
				return w.store.Backend.Put(ctx, key, r)
			}
			if stepped := w.step(t, key); stepped.Retry != given {
				t.Errorf("after %d failures the step is %+v, given back: want %v", failures, stepped, given)
			}
			w.finish(t, key, nil)
			if first != 1 || last != 1 {
				t.Errorf("after %d failures the tools ran %d and %d times, want once", failures, first, last)
			}
		})
	}
}

// A run whose very end does not fit into a store with no room at all: the end that it came
// to is tried with its request, then in three forms without, its failure in five, the last of them three times more. Then
// the claim is given back.
func TestEndThatDoesNotFitIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, tried := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) > 0 {
				tried++
				return store.Outcome{}, store.ErrTooLarge
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || tried != 12 {
			t.Errorf("after %d tries the step is %+v, %v; want it given back after 12", tried, stepped, err)
		}
	})
}

// A commit whose records are refused again and again takes eight more fences.
func TestCommitTakesEightMoreFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, tried := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) > 0 {
				tried++
				return store.Outcome{}, &store.RefusedError{Name: c.Records[0].Name, Cause: store.ErrConflict}
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || stepped.Head.Fence != 9 || tried != 9 {
			t.Errorf("after %d tries the step is %+v, %v; want it given back under fence 9 after 9", tried, stepped, err)
		}
	})
}
