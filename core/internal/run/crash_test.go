package run_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// crash takes one step in a process that dies before the nth write of a head
// that the step makes, then frees the thread as after the lease.
func (w *world) crash(t *testing.T, n int) {
	t.Helper()
	head := w.take(t, key)
	writes := 0
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if writes++; writes >= n {
			w.store.dead.Store(true)
			return store.Outcome{}, errDead
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, errDead) {
		t.Fatalf("the step did not crash: %v", err)
	}
	w.store.dead.Store(false)
	w.store.OnCommit = nil
	w.reclaim(t)
}

// reclaim frees the thread as when its holder is known to be gone.
func (w *world) reclaim(t *testing.T) {
	t.Helper()
	if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
		t.Fatal(err)
	}
}

const commitA, commitB = 1, 2

// counted is a tool that counts its executions.
func counted(name string, atMostOnce bool, runs *int) tool.Tool {
	var mu sync.Mutex // calls of a round may run side by side
	return toolFunc{name: name, atMostOnce: atMostOnce, run: func(context.Context, tool.Call) (tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		*runs++
		return tool.NewResult(name + " ran"), nil
	}}
}

// slowly is counted, but takes a second: it is the last of a round.
func slowly(name string, runs *int) tool.Tool {
	return toolFunc{name: name, run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(time.Second)
		*runs++
		return tool.NewResult(name + " ran"), nil
	}}
}

// A result that an earlier claim stored is put again, the same bytes under the
// own fence: a worker that only paused could still change it otherwise.
func TestStoredResultIsAdoptedUnderTheNewFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, last := 0, 0
		o := options{
			model:  replies(calls("first", "{}", "last", "{}"), text("ok")),
			tools:  []tool.Tool{counted("first", false, &first), slowly("last", &last)},
			window: 1, // of one message: the turn
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		before := w.record(t, store.LogName(3))
		if before.Fence != 1 {
			t.Fatalf("the first result is stored under fence %d, want 1", before.Fence)
		}
		w.stepper = w.other(t, o)
		var puts []string
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			puts = append(puts, r.Name)
			return w.store.Backend.Put(ctx, key, r)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{store.LogName(3)}, puts); diff != "" {
			t.Errorf("records put alone (-want +got):\n%s", diff)
		}
		after := w.record(t, store.LogName(3))
		if after.Fence != 2 || string(after.Payload) != string(before.Payload) {
			t.Errorf("the first result is %s under fence %d, want the same bytes under fence 2", after.Payload, after.Fence)
		}
		want := []string{"user: hi", "assistant: [first {}][last {}]", `tool: "first ran"`, `tool: "last ran"`, "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if first != 1 || last != 2 { // the last one was to travel with commit B, which never was
			t.Errorf("the tools ran %d and %d times, want 1 and 2", first, last)
		}
	})
}

func TestToolThatMayHaveRun(t *testing.T) {
	tests := []struct {
		name       string
		atMostOnce bool
		crash      int // before this write of a head: after the tool
		runs       int
		result     string
	}{
		{"at least once", false, commitB, 2, `tool: "count ran"`},
		{"at most once", true, commitB + 1, 1, "tool: outcome unknown: the tool may have run, and it must not run twice"},
		{"at most once, not yet marked", true, commitB, 1, `tool: "count ran"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				o := options{model: replies(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", tt.atMostOnce, &ran)}}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, tt.crash)
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: [count {}]", tt.result, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Error(diff)
				}
				if ran != tt.runs {
					t.Errorf("the tool ran %d times, want %d", ran, tt.runs)
				}
			})
		})
	}
}

// Gates come before the mark: it says that the tool is about to start.
func TestAtMostOnceIsMarkedJustBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		var seen []thread.CallStatus
		o := options{model: replies(calls("count", "{}", "echo", `{"text":"a"}`), text("ok")), mode: agent.ParallelStreaming}
		w := &world{}
		o.tools = []tool.Tool{toolFunc{name: "count", atMostOnce: true, run: func(context.Context, tool.Call) (tool.Result, error) {
			ran++
			seen = append(seen, w.head(t, key).Run.Calls...)
			return tool.NewResult("ok"), nil
		}}}
		o.plugins = []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
			seen = append(seen, w.head(t, key).Run.Calls...)
			return plugin.Allow, nil
		})}
		*w = *newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []thread.CallStatus{thread.CallNew, thread.CallNew, thread.CallNew, thread.CallNew, thread.CallRunning, thread.CallNew}
		if diff := cmp.Diff(want, seen); diff != "" || ran != 1 {
			t.Errorf("the tool ran %d times, statuses at two gates and at the tool (-want +got):\n%s", ran, diff)
		}
	})
}

// Whoever takes an open round over judges its turn again, and ends the run for
// the call that an earlier claim blocked.
func TestVerdictsHoldAfterACrash(t *testing.T) {
	tests := []struct {
		name    string
		options options
		log     []string
		end     string
	}{
		{
			name: "stop policy", options: options{stop: []agent.StopPolicy{stopAtOnce}},
			log: []string{"tool: not executed: test", "tool: not executed: test", "tool: not executed: test"},
			end: `done 1 {"type":"stopped","code":"test"} ""`,
		},
		{
			name: "block", options: options{plugins: []plugin.Plugin{gates(blockB)}},
			log: []string{`tool: {"text":"a"}`, "tool: blocked: not b", "tool: not executed: an earlier call was blocked"},
			end: `done 1 {"type":"blocked","detail":"not b"} ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
				w.crash(t, commitB)
				w.stepper = w.other(t, tt.options)
				w.finish(t, key, nil)
				want := append([]string{"user: parallel: a, b, c", `assistant: [echo {"text":"a"}][echo {"text":"b"}][echo {"text":"c"}]`}, tt.log...)
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
			})
		})
	}
}

// One write makes a failed inference known. Whatever happens to it, the step is
// counted once, and a call of the model is made again only if its failure is lost.
func TestFailedInferenceOverEveryMishap(t *testing.T) {
	const commit, failed, asked, got, ok = 2, "failed: overloaded", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "assistant: ok"
	const read = 3 // times that the model is called when nothing goes wrong
	seen := []string{failed, asked, got, ok}
	unseen := []string{asked, got, ok} // the model has failed once, and not again
	tests := []struct {
		name       string
		heard      bool // a reader was shown a part of the turn, which the next fence makes void before the commit
		write      int
		inferences map[string][]string // by mishap: what follows the input
	}{
		{"the commit", false, commit, map[string][]string{
			"crash before": unseen, "crash after": seen, "crash between records and head": unseen,
			"lost": seen, "no response": seen, "no response, and no head": seen,
		}},
		{"the next fence", true, commit, map[string][]string{
			"crash before": unseen, "crash after": unseen, "crash between records and head": unseen,
			"lost": seen, "no response": seen, "no response, and no head": seen,
		}},
		{"the commit behind the next fence", true, commit + 1, map[string][]string{
			"crash before": unseen, "crash after": seen, "crash between records and head": unseen,
			"lost": seen, "no response": seen, "no response, and no head": seen,
		}},
	}
	for _, tt := range tests {
		for _, m := range mishaps {
			t.Run(tt.name+"/"+m.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said := &takes10s{turns: [][]model.Delta{{say("I wa")}, calls("echo", `{"text":"a"}`), text("ok")}}
					o := options{agents: spec(t, said, agent.Spec{Stop: []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, Retry: agent.Retry{MaxRetries: new(0)}})}
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					var sink history.Sink
					if tt.heard {
						sink = listener
					}
					reached := w.befall(tt.write, m)
					w.work(t, o, sink)
					if !reached() {
						t.Fatalf("the run has made no write %d", tt.write)
					}
					want := append([]string{"user: hi"}, tt.inferences[m.name]...)
					if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
						t.Errorf("log (-want +got):\n%s", diff)
					}
					steps := len(want) - 2 // a turn's result is no step
					if end, want := w.end(t, key, receipt), fmt.Sprintf(`done %d {"type":"natural_end"} "ok"`, steps); end != want {
						t.Errorf("the run is %s, want %s", end, want)
					}
					if said.calls != read {
						t.Errorf("the model was called %d times, want %d", said.calls, read)
					}
				})
			})
		}
	}
}

// A store that takes nothing for a while does not make the model fail once more: the
// nack says that it has, and the next claim stores the failure without a call.
func TestFailureThatIsStoredLaterCostsNoInference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &takes10s{turns: [][]model.Delta{nil, text("ok")}}
		o := options{agents: spec(t, said, agent.Spec{Stop: []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, Retry: agent.Retry{MaxRetries: new(0)}})}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		began := time.Now()
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) > 0 && said.calls == 1 && time.Since(began) < time.Minute {
				return store.Outcome{}, core.Errorf(core.CodeThrottled, "slow down")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: hi", "failed: other", "assistant: ok"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` || said.calls != 2 {
			t.Errorf("after %d calls of the model the run is %s, want 2", said.calls, got)
		}
	})
}

// A conversation that a failed step added to is never used again.
func TestDeadAttemptLeavesNothingInTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			said++
			return replies(text("attempt "+string(rune('0'+said))), text("second"))(ctx, r)
		})})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, 1)
		w.finish(t, key, nil)
		w.submit(t, key, "again", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: attempt 2", "user: again", "assistant: second"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}
