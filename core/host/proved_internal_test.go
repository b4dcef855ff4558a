package host

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// failsFirst is a model whose first call fails. It tells of each call.
type failsFirst struct {
	called func()
	calls  *int
}

func (m failsFirst) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		m.called()
		if *m.calls++; *m.calls == 1 {
			yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: "broken pipe"})
			return
		}
		if yield(model.Delta{Type: model.DeltaText, Text: "ok"}, nil) {
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
		}
	}
}

// A suspect whose step has failed, which its policy tolerates, has not taken the process
// down: its next step, in the same invocation, is no suspect's.
func TestAStepThatFailedSettlesTheSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *Host
		var alone []bool
		called := func() {
			r.worker.permits.mu.Lock()
			defer r.worker.permits.mu.Unlock()
			alone = append(alone, r.worker.permits.suspect != nil)
		}
		r, _ = program(t, func(c *Options) {
			c.Steps = 5
			c.Agents.Models["m"] = agent.ModelBinding{Model: failsFirst{called, new(int)}}
			c.Agents.Specs[0].Stop = []agent.StopSpec{{Type: "consecutive_errors", Max: 3}}
		})
		if _, err := r.Submit(t.Context(), hello("t")); err != nil {
			t.Fatal(err)
		}
		hint := core.WakeUp{Tenant: "acme", Thread: "t"}
		for range 2 {
			if _, ok, err := r.mailbox.Claim(t.Context(), hint, true); !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(10 * time.Minute)
		}
		if err := r.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]bool{true, false}, alone); diff != "" {
			t.Errorf("a suspect at each call (-want +got):\n%s", diff)
		}
	})
}
