package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// What a claim makes of a RunEnd that ran under the one before it: what that has changed is in
// the log where there is anything, and where it fits on a state that can be read; the effects
// run in any case.
func TestWhatAClaimMakesOfARunEndBeforeIt(t *testing.T) {
	tests := []struct {
		name   string
		silent bool                                            // RunEnd does nothing
		change bool                                            // RunEnd changes the state
		spoil  func(t *testing.T, w *world, r mailbox.Receipt) // between the claims
		log    int                                             // records behind the turn
		logged string                                          // of the second claim
		acts   int                                             // effects that have run
	}{
		{name: "a change", change: true, log: 1, acts: 1},
		{name: "no change", acts: 1},
		{name: "nothing", silent: true},
		{name: "a change of what cannot be read", change: true, spoil: func(t *testing.T, w *world, _ mailbox.Receipt) { w.spoil(t, store.LogName(2)) },
			logged: `level=ERROR msg="closing run cannot be read"`, acts: 0},
		{name: "a change that does not fit", change: true, spoil: func(t *testing.T, w *world, r mailbox.Receipt) {
			kept := w.record(t, recordname.End(r.RunID, w.head(t, key).Run.RunEnd))
			kept.Payload = []byte(strings.Replace(string(kept.Payload), `"path":"/thread/piled`, `"path":"/thread/piled/7/none`, 1))
			kept.Version++
			if err := w.store.Put(t.Context(), key, kept); err != nil {
				t.Fatal(err)
			}
		}, logged: `level=ERROR msg="changes of RunEnd lost"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran, acts := 0, 0
				var got notebook
				o := options{model: replies(text("ok")), logger: got.logger(), plugins: []plugin.Plugin{pluginFunc{"leaving", func(r *plugin.Registrar) {
					r.Key(piled)
					said := plugin.Effect[string]{Name: "said"}
					said.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
						acts++
						return nil
					})
					r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
						if ran++; tt.silent {
							return state.Command{}, nil
						}
						if tt.change {
							return state.Combine(piled.Update("e"), said.Emit("bye")), nil
						}
						return said.Emit("bye"), nil
					})
				}}}}
				w := newWorld(t, o)
				w.refuseClose(7, store.ErrThrottled)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				var kept thread.EndRecord
				if err := (thread.Records{}).Decode("end", w.record(t, recordname.End(receipt.RunID, w.head(t, key).Run.RunEnd)).Payload, &kept); err != nil {
					t.Fatal(err)
				}
				if (len(kept.Patch) > 0) != tt.change || (kept.Command != nil) != (tt.acts > 0 || tt.spoil != nil) {
					t.Errorf("of RunEnd is kept %+v", kept)
				}
				time.Sleep(time.Minute)
				w.stepper = w.other(t, o)
				if tt.spoil != nil {
					tt.spoil(t, w, receipt)
				}
				got.lines = nil
				w.step(t, key)
				want := []string{"user: hi", "assistant: ok"}
				if w.store.spoiled = nil; tt.log > 0 {
					want = append(want, "state")
				}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				lines := strings.Join(got.lines, "\n")
				if ran != 1 || acts != tt.acts || !strings.HasPrefix(lines, tt.logged) || (lines == "") != (tt.logged == "") {
					t.Errorf("RunEnd ran %d times with %d effects, want once with %d; the log says %q, want %q", ran, acts, tt.acts, lines, tt.logged)
				}
			})
		})
	}
}
