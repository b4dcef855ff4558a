package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// What is lost of a thread stands in the log, by name, and ends no more than it must.
func TestWhatIsLostIsLogged(t *testing.T) {
	cancel := func(t *testing.T, w *world, r mailbox.Receipt) {
		t.Helper()
		if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
			t.Fatal(err)
		}
	}
	const corrupt = `"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`
	tests := []struct {
		name string
		lose func(t *testing.T, w *world, r mailbox.Receipt) (spoiled, missing string)
		want []string
		log  []string
		end  string
	}{
		{"the input", func(t *testing.T, w *world, r mailbox.Receipt) (string, string) {
			return "", recordname.Input(r.DispatchID, 0)
		}, []string{
			`msg="run ends with an error" step=0 code=corrupt detail="the stored thread cannot be read" error="queued input Q#INPUT#0 is missing: stored data is corrupt"`,
			`msg="run finished" agent="" steps=0 tokens_in=0 tokens_out=0 end=error code=corrupt`,
		}, nil, "done 0 {" + corrupt},
		{"the record of the run", func(t *testing.T, w *world, r mailbox.Receipt) (string, string) {
			w.step(t, key)
			return "", recordname.Run(r.RunID)
		}, []string{
			`msg="run ends with an error" step=0 code=corrupt detail="the stored thread cannot be read" error="run record is missing: stored data is corrupt"`,
			`msg="run finished" agent=demo steps=1 tokens_in=0 tokens_out=0 duration=0s end=error code=corrupt`,
		}, []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`}, "done 1 {" + corrupt},
		{"one of two inputs that were steered", func(t *testing.T, w *world, r mailbox.Receipt) (string, string) {
			w.step(t, key)
			w.submit(t, key, "first", mailbox.ModeSteer)
			return "", recordname.Input(w.submit(t, key, "second", mailbox.ModeSteer).DispatchID, 0)
		}, []string{
			`msg="input is lost" step=2 input=STEERED error="queued input Q#STEERED#0 is missing: stored data is corrupt"`,
			`msg="model call failed, will be retried" step=2 kind=overloaded wait=1s failed=1 error="" patience=15m0s`,
			`msg="step released, will be retried" step=2 kind=model pause=1s error="inference: "`,
			`msg="input is lost" step=2 input=STEERED error="queued input Q#STEERED#0 is missing: stored data is corrupt"`,
			`msg="run finished" agent=demo steps=2 tokens_in=0 tokens_out=0 duration=1s end=natural_end`,
		}, []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: first", "assistant: ok"}, `done 2 {"type":"natural_end"} "ok"`},
		{"the log of a run that closes", func(t *testing.T, w *world, r mailbox.Receipt) (string, string) {
			w.step(t, key)
			cancel(t, w, r)
			return store.LogName(1), ""
		}, []string{
			`msg="closing run cannot be read" step=0 error="log of t/t1 at 1: decode log entry: it does not begin with its schema number"`,
			`msg="run finished" agent=demo steps=0 tokens_in=0 tokens_out=0 duration=0s end=cancelled`,
		}, []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`}, `done 0 {"type":"cancelled"} ""`},
		{"what was wasted, of a run that closes", func(t *testing.T, w *world, r mailbox.Receipt) (string, string) {
			w.step(t, key)
			w.step(t, key)
			cancel(t, w, r)
			return recordname.Wasted(r.RunID, w.head(t, key).Run.Stretch.Wasted), ""
		}, []string{
			`msg="closing run cannot be read" step=0 error="decode wasted calls: it does not begin with its schema number"`,
			`msg="run finished" agent=demo steps=0 tokens_in=0 tokens_out=0 duration=0s end=cancelled`,
		}, []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`}, `done 0 {"type":"cancelled"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				o := options{env: drawing(time.Second), logger: reports(&log), metering: &accounting.Metering{Keep: time.Hour}, model: busyAtTheSecond()}
				w := newWorld(t, o)
				var err error
				if w.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: quiet, KeepUsage: time.Hour}); err != nil {
					t.Fatal(err)
				}
				w.stepper = w.other(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				steered := core.ID{}
				spoiled, missing := tt.lose(t, w, receipt)
				w.spoil(t, spoiled)
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if name == missing {
						return store.Record{}, false, nil
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				if inbox := w.head(t, key).Inbox; len(inbox) > 0 {
					steered = inbox[len(inbox)-1].ID
				}
				w.stepper = w.other(t, o)
				log.Reset()
				w.finish(t, key, nil)
				w.store.spoiled, w.store.OnGet = nil, nil
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				for i := range lines {
					lines[i] = strings.NewReplacer(receipt.RunID.String(), "RUN", receipt.DispatchID.String(), "INPUT", steered.String(), "STEERED").Replace(lines[i])
				}
				if diff := cmp.Diff(tt.want, lines); diff != "" {
					t.Errorf("logged (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

// busyAtTheSecond is a model that calls a tool, then has used tokens and has too much to do,
// then says ok.
func busyAtTheSecond() modelFunc {
	n := 0
	return func(ctx context.Context, r model.Request) iterator {
		switch n++; n {
		case 1:
			return replies(calls("echo", `{"text":"a"}`))(ctx, model.Request{})
		case 2:
			return func(yield func(model.Delta, error) bool) {
				if yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 7}}, nil) {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded})
				}
			}
		}
		return replies(text("ok"))(ctx, model.Request{})
	}
}
