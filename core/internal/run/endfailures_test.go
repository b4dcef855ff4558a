package run_test

import (
	"context"
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
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// Whichever operation of the store fails while an end takes its smallest form, the run ends
// as it came to, with what was said and once for RunEnd, and no call goes without its result.
func TestWhicheverOperationFailsWhileAnEndTakesItsSmallestForm(t *testing.T) {
	tests := []struct {
		name  string
		begin func(t *testing.T, w *world) mailbox.Receipt
		log   []string
		end   string
		form  thread.Form
	}{
		{"an open round", func(t *testing.T, w *world) mailbox.Receipt {
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			if _, err := w.cut(t, time.Second, false); err != nil {
				t.Fatal(err)
			}
			cancelRun(t, w, &trace{}, receipt)
			return receipt
		}, []string{
			"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, "tool: outcome unknown: the run was ended while the tool may have run",
		}, `done 1 {"type":"cancelled"} ""`, thread.FormLeast},
		{"a run that never began, and takes the log back", func(t *testing.T, w *world) mailbox.Receipt {
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			sent := requesting("other", 0)
			sent.Opening.Supersede = 1
			receipt, err := w.box.Submit(t.Context(), sent)
			if err != nil {
				t.Fatal(err)
			}
			w.take(t, key)
			cancelRun(t, w, &trace{}, receipt)
			w.reclaim(t)
			return receipt
		}, []string{
			"user: hi", `assistant: [echo {"text":"a"}][nap {}]`, `tool: {"text":"a"}`, `tool: "rested"`, "assistant: ok", "state", "user: other",
		}, `done 0 {"type":"cancelled"} ""`, thread.FormLeast},
		{"a failure", func(t *testing.T, w *world) mailbox.Receipt {
			return w.submit(t, key, "fail", mailbox.ModeQueue)
		}, []string{"user: fail"}, `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`, thread.FormLeast},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for failing, reached := 1, true; reached; failing++ {
				synctest.Test(t, func(t *testing.T) {
					var seen closed
					says := replies(calls("echo", `{"text":"a"}`, "nap", "{}"), text("ok"))
					o := options{mode: agent.Sequential, tools: []tool.Tool{nap}, plugins: []plugin.Plugin{piles(100, &seen)}, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
						if r.Messages[0].Text() == "fail" {
							return replies([]model.Delta{{Text: "broken pipe"}})(ctx, model.Request{})
						}
						return says(ctx, r)
					})}
					w := newWorld(t, o)
					receipt := tt.begin(t, w)
					w.stepper = w.other(t, o)
					w.refuseClose(int(thread.FormLeast), store.ErrTooLarge)
					head, n, ended := w.take(t, key), 0, len(seen.saw)
					lost, mu := "", sync.Mutex{} // reads go beside each other
					w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
						mu.Lock()
						n++
						fails := n == failing
						if fails {
							lost = op.Method + " " + op.Name
						}
						mu.Unlock()
						if fails {
							return core.Errorf(core.CodeInvalid, "no such table")
						}
						return w.store.around(ctx, op, do)
					}
					_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
					w.store.Around = w.store.around
					if reached = lost != ""; err != nil {
						w.reclaim(t)
					}
					w.finish(t, key, nil)
					if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
						t.Errorf("log after operation %d, %s, failed with %v (-want +got):\n%s", failing, lost, err, diff)
					}
					if got := w.end(t, key, receipt); got != tt.end || w.form(t, receipt) != tt.form || len(seen.saw) != ended+1 {
						t.Errorf("after operation %d, %s, failed the run is %s in the form %s, and RunEnd ran %d times", failing, lost, got, w.form(t, receipt), len(seen.saw)-ended)
					}
				})
			}
		})
	}
}
