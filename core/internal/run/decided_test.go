package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// Two gates ask about one call, and then its tool does: each is asked once, and
// what was granted stays granted. The tool may not ask for the same again.
func TestEachSuspensionOfACallIsDecidedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		ask := func(id string) plugin.Plugin {
			return pluginFunc{id, func(r *plugin.Registrar) {
				r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return suspends(id), nil })
			}}
		}
		w := newWorld(t, options{
			model: replies(calls("act", "{}"), text("ok")), plugins: []plugin.Plugin{ask("one"), ask("two"), ask("three")},
			tools: []tool.Tool{noted("act", &did, func(c tool.Call) (tool.Result, error) {
				if c.Resume.Suspension == "three" {
					return tool.Suspended(core.TicketRequest{}), nil
				}
				return tool.Suspended(core.TicketRequest{ID: "two"}), nil
			})},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 4 {
			w.finish(t, key, nil)
			w.mustDecide(t, 0, approve)
		}
		w.finish(t, key, nil)
		own := strings.ReplaceAll(receipt.RunID.String()+"/2/0", "/", ".") + ".4"
		if diff := cmp.Diff([]string{"act {} after about-three", "act {} after about-" + own}, did); diff != "" {
			t.Errorf("executions (-want +got):\n%s", diff)
		}
		want := []string{`error: execution failed: the call waits for "two" again, which was decided after about-` + own}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

// A decision on one call takes effect while another still runs: the watch sees it.
func TestDecisionThatComesWhileASiblingRuns(t *testing.T) {
	tests := []struct {
		mode agent.ExecutionMode
		want []string
	}{
		{agent.ParallelStreaming, []string{"ask after 4s", "long after 30s"}},
		{agent.ParallelBatchApproval, []string{"ask after 4s", "long after 30s"}}, // the only ticket: all are decided
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var did []string
				takes := func(name string, d time.Duration) tool.Tool {
					return toolFunc{name: name, run: func(context.Context, tool.Call) (tool.Result, error) {
						time.Sleep(d)
						mu.Lock()
						defer mu.Unlock()
						did = append(did, fmt.Sprintf("%s after %s", name, time.Since(began)))
						return tool.NewResult("ok"), nil
					}}
				}
				w := newWorld(t, options{
					model: replies(calls("ask", "{}", "long", "{}"), text("ok")), mode: tt.mode,
					tools: []tool.Tool{takes("ask", 0), takes("long", 30*time.Second)}, plugins: []plugin.Plugin{asking("ask")},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(3*time.Second, func() { w.mustDecide(t, 0, approve) })
				head := w.take(t, key)
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if err != nil || stepped.Outcome != thread.Yield || stepped.Head.Run.Cursor != thread.CursorInfer {
					t.Errorf("the step is %+v, %v; want it to end the round", stepped, err)
				}
				if diff := cmp.Diff(tt.want, did); diff != "" {
					t.Errorf("executions (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// In batch mode a decision waits for the others, however long siblings run.
func TestBatchWaitsForEveryDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		w := newWorld(t, options{
			model: replies(calls("act", `{"n":0}`, "act", `{"n":1}`, "nap", "{}"), text("ok")), mode: agent.ParallelBatchApproval,
			tools: []tool.Tool{noted("act", &did, nil), nap}, plugins: []plugin.Plugin{asking("act")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { w.mustDecide(t, 0, approve) })
		w.finish(t, key, nil)
		if got := w.stands(t); got != "waiting [resuming suspended done]" || len(did) != 0 {
			t.Errorf("the run is %s after %q, want it to wait for the second decision", got, did)
		}
		w.mustDecide(t, 1, cancels)
		w.finish(t, key, nil)
		want := []string{`ok: "act ran" after about-gate0`, "denied: denied: too late after about-gate1", `ok: "rested"`}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A decision that comes between the ticket's announcement and the write that was to
// wait lets the same claim go on.
func TestDecisionBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("ask", "{}", "nap", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("ask", false, new(int)), nap}, plugins: []plugin.Plugin{asking("ask")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if c.Head.Run.Status == thread.Waiting {
				w.store.OnCommit = nil
				w.mustDecide(t, 0, approve)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		var got events
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head, Keep: true}, got.sink)
		if err != nil || stepped.Outcome != thread.Continue || w.stands(t) != "running [resuming done]" {
			t.Fatalf("the step is %s, %v, and the run is %s; want it to go on", stepped.Outcome, err, w.stands(t))
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: stepped.Head}, got.sink); err != nil {
			t.Fatal(err)
		}
		want := []string{"inference_complete", "tool_call_suspended ask", `tool_call_done nap "rested"`, "tool_call_resumed ask", `tool_call_done ask "ask ran"`, "step_end"}
		if diff := cmp.Diff(want, brief(got.lines)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// The head names what was decided. What it names and is not there is damage, and
// a decision that it does not name does not count.
func TestDecisionCountsOnlyAsTheHeadNamesIt(t *testing.T) {
	for _, lost := range []string{"D#", "C#"} {
		t.Run(lost, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{plugins: []plugin.Plugin{asking("echo")}})
				receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, approve)
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if strings.HasPrefix(name, lost) {
						return store.Record{}, false, nil
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 1 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
	t.Run("an orphan", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{plugins: []plugin.Plugin{asking("echo")}})
			w.submit(t, key, "echo: a", mailbox.ModeQueue)
			w.finish(t, key, nil)
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				return store.Outcome{}, errors.Join(w.store.partly(ctx, key, c), errDead)
			}
			refused := deny
			refused.ID = "mine"
			if err := w.decide(t.Context(), 0, refused); err == nil {
				t.Fatal("the decision was accepted")
			}
			w.store.OnCommit = nil
			w.mustDecide(t, 0, approve)
			w.finish(t, key, nil)
			if diff := cmp.Diff([]string{`ok: {"text":"a"} after about-gate0`}, w.results(t)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	})
}

// What cannot be read for a while is not missing: the call goes on with the next try.
func TestStoreThatFailsToReadADecision(t *testing.T) {
	for _, prefix := range []string{"D#", "C#"} {
		t.Run(prefix, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{plugins: []plugin.Plugin{asking("echo")}})
				w.submit(t, key, "echo: a", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 0, approve)
				failures := 3 // the round's record, the ticket and the decision are read
				w.store.read = func(what string) error {
					if strings.HasPrefix(what, prefix) && failures > 0 {
						failures--
						return store.ErrThrottled
					}
					return nil
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{`ok: {"text":"a"} after about-gate0`}, w.results(t)); diff != "" || failures != 0 {
					t.Errorf("%d failures are left; result (-want +got):\n%s", failures, diff)
				}
			})
		})
	}
}

// A person who says approved: false has refused, whatever else the decision says: in no
// resume mode does the tool run, nor does the payload become a result or arguments.
func TestApprovedFalseNeverRunsTheTool(t *testing.T) {
	for _, mode := range []core.ResumeMode{core.ResumeReplay, core.ResumeAsResult, core.ResumeAsArguments} {
		for _, action := range []core.DecisionAction{core.DecisionResume, core.DecisionCancel} {
			for _, payload := range []string{`{"approved":false}`, `{"approved":false,"text":"b"}`} {
				t.Run(fmt.Sprint(mode, " ", action, " ", payload), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var did []string
						w := newWorld(t, options{plugins: []plugin.Plugin{once(mode), pluginFunc{"did", func(r *plugin.Registrar) {
							r.OnBeforeTool(notes(&did))
						}}}})
						w.submit(t, key, "echo: a", mailbox.ModeQueue)
						w.finish(t, key, nil)
						w.mustDecide(t, 0, core.Decision{Action: action, Payload: json.RawMessage(payload), Reason: "not today"})
						w.finish(t, key, nil)
						if diff := cmp.Diff([]string{"denied: denied: not today after about-ask"}, w.results(t)); diff != "" || did != nil {
							t.Errorf("executions %q; result (-want +got):\n%s", did, diff)
						}
					})
				})
			}
		}
	}
}
