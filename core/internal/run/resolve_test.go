package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
)

// lost is a registry whose agents cannot be had.
type lost struct{ err func() error }

func (l lost) Resolve(string) (*registry.Resolved, error) { return nil, l.err() }

// What says nothing about the agent costs the run a try and not its life: another
// try, or a newer program, may find it.
func TestAnAgentThatCannotBeHadNowDoesNotEndItsRun(t *testing.T) {
	stopped := errors.New("the worker stops")
	var stop context.CancelCauseFunc
	tests := []struct {
		name string
		err  func() error
	}{
		{"a failure of the store", func() error { return fmt.Errorf("%w: down", pins.ErrStore) }},
		{"content of a newer program", func() error { return core.Errorf(core.CodeSchema, "content of an agent") }},
		{"a worker that stops", func() error { stop(stopped); return core.Errorf(core.CodeNotFound, "agent not found") }},
		{"a worker that stops, whatever comes of it", func() error { stop(stopped); return errors.New("half of an agent") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var ctx context.Context
				ctx, stop = context.WithCancelCause(t.Context())
				defer stop(nil)
				if _, err := w.other(t, options{agents: lost{tt.err}}).Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
					t.Errorf("the step is not given back: %v", err)
				}
				if log := w.log(t, key); len(log) != 0 {
					t.Errorf("the log has %v", log)
				}
				w.finish(t, key, nil)
				if got, want := w.end(t, key, receipt), `done 1 {"type":"natural_end"} "You said: hi"`; got != want {
					t.Errorf("the run is %s, want %s", got, want)
				}
			})
		})
	}
}

// An agent that is there and cannot be used is waited for by nobody.
func TestAnAgentThatCannotBeUsedEndsItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{agents: lost{func() error { return core.Errorf(core.CodeInvalid, "the agent has no model") }}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		const want = `done 0 {"type":"error","code":"resolution","detail":"the agent of the run is not there any more, or cannot be used"} ""`
		if got := w.end(t, key, receipt); got != want {
			t.Errorf("the run is %s\nwant %s", got, want)
		}
	})
}
