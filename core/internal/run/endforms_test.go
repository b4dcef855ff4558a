package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
)

// metered makes a world that records what its runs use.
func metered(t *testing.T, o options) *world {
	t.Helper()
	if o.metering == nil {
		o.metering = &accounting.Metering{Keep: 100 * 365 * 24 * time.Hour}
	}
	w := newWorld(t, o)
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: quiet, Records: o.records, KeepUsage: o.metering.Keep})
	if err != nil {
		t.Fatal(err)
	}
	w.box = box
	w.stepper = w.other(t, o)
	return w
}

// Each form of an end leaves more out of the run's record, and the log of the process says
// which form it took.
func TestWhatEachFormOfAnEndLeavesOut(t *testing.T) {
	smaller := func(form string) string {
		return `level=ERROR msg="run's end too large, stored in a smaller form" step=2 form=` + form + ` error="write head of t/t1: record is over the size limit"`
	}
	tests := []struct {
		form thread.Form
		want string
	}{
		{thread.FormWhole, "request 12, frontend true, response 2000, bases 2, unknown 1, detail 2000, ending 2000 in form whole"},
		{thread.FormBare, "request 0, frontend false, response 2000, bases 2, unknown 1, detail 2000, ending 2000 in form bare"},
		{thread.FormCut, "request 0, frontend false, response 1020, bases 2, unknown 1, detail 2000, ending 2000 in form cut"},
		{thread.FormStateless, "request 0, frontend false, response 1020, bases 2, unknown 1, detail 2000, ending 2000 in form stateless"},
		{thread.FormLeast, "request 0, frontend false, response 1020, bases 0, unknown 0, detail 1020, ending 1020 in form least"},
	}
	for _, tt := range tests {
		t.Run(tt.form.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen closed
				var got notebook
				w := metered(t, options{
					model: replies(calls("echo", `{"text":"a"}`), text(strings.Repeat("x", 2000))), plugins: []plugin.Plugin{asking("echo"), piles(0, &seen)}, logger: got.logger(),
					stop: []agent.StopPolicy{agent.StopFunc(func(v agent.StopView) *core.Termination {
						if v.Step == 1 {
							return nil
						}
						return &core.Termination{Type: core.TerminationStopped, Code: "test", Detail: strings.Repeat("d", 2000)}
					})},
				})
				sent := requesting("hi", 12)
				sent.Opening.Frontend = &core.Frontend{Context: []core.FrontendContext{{Description: "the page", Value: "a list"}}}
				receipt, err := w.box.Submit(t.Context(), sent)
				if err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				r := w.record(t, recordname.Run(receipt.RunID))
				r.Version++
				r.Payload = append(r.Payload[:len(r.Payload)-1:len(r.Payload)-1], `,"mood":"new"}`...)
				if err := w.store.Backend.Put(t.Context(), key, r); err != nil {
					t.Fatal(err)
				}
				w.mustDecide(t, 0, approve)
				w.refuseClose(int(tt.form), store.ErrTooLarge)
				w.finish(t, key, nil)
				after := w.runRecord(t, receipt.RunID)
				stands := fmt.Sprintf("request %d, frontend %t, response %d, bases %d, unknown %d, detail %d, ending %d in form %s",
					len(after.Request), after.Frontend != nil, len(after.Response), len(after.Bases), len(after.Unknown),
					len(after.Termination.Detail), len(after.Ending.Termination.Detail), after.Ending.Form)
				if diff := cmp.Diff(tt.want, stands); diff != "" {
					t.Errorf("the run's record (-want +got):\n%s", diff)
				}
				var said []string
				for form := range tt.form {
					said = append(said, smaller((form + 1).String()))
				}
				if diff := cmp.Diff(said, got.lines); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What a model was asked for a turn that no log has is in the usage of its run once, also
// where the failure begins to close the run and the close ends it.
func TestAFailedTurnIsMeteredOnce(t *testing.T) {
	for _, listens := range []int{-1, 0} {
		synctest.Test(t, func(t *testing.T) {
			var seen closed
			var used []string
			w := metered(t, options{
				model: turns(says(calls("echo", `{"text":"a"}`)...), breaks(&model.Error{Kind: model.KindInvalid, Message: "no"})), plugins: []plugin.Plugin{piles(listens, &seen)},
				metering: &accounting.Metering{Keep: 100 * 365 * 24 * time.Hour, Ended: func(_ string, u account.Record) { used = append(used, (&trace{began: time.Now()}).used(&u)) }},
			})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			if diff := cmp.Diff([]string{"error until 0, 2 calls of models, 1 of tools"}, used); diff != "" {
				t.Errorf("listens %d (-want +got):\n%s", listens, diff)
			}
		})
	}
}

// A claim that takes over an end whose response was cut stores no more of it, though its store
// has room.
func TestTakeoverOfAnEndThatIsCutStoresNoMoreOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen closed
		o := options{model: replies(text(strings.Repeat("x", 7700))), plugins: []plugin.Plugin{piles(0, &seen)}, stop: []agent.StopPolicy{agent.StopFunc(func(agent.StopView) *core.Termination {
			return &core.Termination{Type: core.TerminationStopped, Code: "test", Detail: strings.Repeat("d", 400)}
		})}}
		w := newWorld(t, o)
		w.limit(8 << 10)
		receipt := w.request(t, "hi", 100)
		w.crashClosing(t)
		w.store.OnPut = nil
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		if r := w.runRecord(t, receipt.RunID); r.Status != core.RunDone || w.form(t, receipt) != thread.FormCut || len(r.Response) != 1021 {
			t.Errorf("the run is %s in the form %s with %d bytes of its response, want done, cut and 1021", r.Status, w.form(t, receipt), len(r.Response))
		}
	})
}
