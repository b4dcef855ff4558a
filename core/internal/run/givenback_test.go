package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// What a step comes to that has failed: which write gives its claim back, and what is logged
// of it. A claim that is lost already has nothing to give.
func TestHowAClaimIsGivenBack(t *testing.T) {
	reset := errors.New("reset")
	stops, stop := context.WithCancel(context.Background())
	stop()
	const given = `msg="step released, will be retried" step=0 `
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() // of every bubble
	nack := func(kind thread.NackKind, pause time.Duration) []thread.Change {
		n := thread.Nack{Fence: 7, Kind: kind}
		if pause >= 0 {
			n.AvailableAt = now + pause.Milliseconds()
		}
		return []thread.Change{n}
	}
	tests := []struct {
		name  string
		ctx   context.Context // nil: it goes on
		late  bool
		cause error
		asked []thread.Change
		log   []string
		lost  bool // the cause is all that it comes to
	}{
		{"a lost claim", nil, false, thread.ErrFenced, nil, nil, true},
		{"a deleted thread", nil, false, thread.ErrDeleted, nil, nil, true},
		{"a write that was applied", nil, false, thread.ErrApplied, nil, nil, true},
		{"a failure", nil, false, reset, nack(thread.NackFailed, 0), []string{"level=WARN " + given + "kind=failed pause=0s error=reset"}, false},
		{"a host that stops", stops, false, reset, nack(thread.NackGiven, -1), []string{"level=INFO " + given + "kind=given pause=0s error=reset"}, false},
		{"no time", nil, true, reset, nack(thread.NackFailed, -1), []string{"level=WARN " + given + "kind=failed pause=0s error=reset"}, false},
		{"what another build has", nil, false, &lacking{reset}, nack(thread.NackLacks, leftPause), []string{"level=INFO " + given + "kind=lacks pause=" + leftPause.String() + ` error="released for another build: reset"`}, false},
		{"a store that is away", nil, false, core.Errorf(core.CodeUnavailable, "no route"), nack(thread.NackGiven, storePause),
			[]string{"level=INFO " + given + `kind=given pause=400ms error="no route"`}, false},
		{"a model that asks for time", nil, false, &inference.RetryError{Wait: time.Minute, Cause: reset}, nack(thread.NackModel, time.Minute),
			[]string{"level=WARN " + given + `kind=model pause=1m0s error="inference: reset"`}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log said
				c := &scripted{}
				m := newScripted(t, c, &log)
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx
				}
				if tt.late {
					over, cancel := context.WithDeadline(ctx, time.Now())
					defer cancel()
					ctx = over
				}
				stepped, err := m.giveBack(ctx, tt.cause)
				want := Stepped{Outcome: thread.Yield, Head: m.holder.head, Retry: true}
				if tt.lost {
					want = Stepped{}
				}
				if diff := cmp.Diff(want, stepped); diff != "" || tt.lost != errors.Is(err, tt.cause) {
					t.Errorf("it comes to %v (-want +got):\n%s", err, diff)
				}
				if errors.Is(err, thread.ErrDeleted) && !errors.Is(err, thread.ErrFenced) {
					t.Errorf("of a deleted thread it comes to %v, want a lost claim", err)
				}
				if diff := cmp.Diff(tt.asked, c.asked); diff != "" {
					t.Errorf("the head is asked for (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.log, log.lines); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A claim that cannot be given back runs out. What RunEnd has changed is left out once, where
// it is that which is too large.
func TestClaimThatCannotBeGivenBack(t *testing.T) {
	reset := errors.New("reset")
	tests := []struct {
		name    string
		form    thread.Form
		failure error
		asked   int
		left    thread.Form
		fenced  bool
	}{
		{"a store that fails", thread.FormWhole, errors.New("no"), 1, thread.FormWhole, false},
		{"a deleted thread", thread.FormWhole, thread.ErrDeleted, 1, thread.FormWhole, true},
		{"too large", thread.FormCut, store.ErrTooLarge, 2, thread.FormStateless, false},
		{"too large without what RunEnd has changed", thread.FormStateless, store.ErrTooLarge, 1, thread.FormStateless, false},
		{"too large in the last form", thread.FormLeast, store.ErrTooLarge, 1, thread.FormLeast, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log said
			c := &scripted{apply: func(int, *thread.Head) error { return tt.failure }}
			m := newScripted(t, c, &log)
			m.form = tt.form
			_, err := m.giveBack(t.Context(), reset)
			if !errors.Is(err, tt.failure) || !errors.Is(err, reset) || errors.Is(err, thread.ErrFenced) != tt.fenced {
				t.Errorf("it comes to %v", err)
			}
			if len(c.asked) != tt.asked || m.form != tt.left {
				t.Errorf("%d writes were tried, and the form is %s; want %d and %s", len(c.asked), m.form, tt.asked, tt.left)
			}
		})
	}
}

// A close goes on only under the claim of a run that is closing.
func TestAHeadThatClosesNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fence  uint64
		status thread.Status
	}{{"another's", 8, thread.Closing}, {"of a run that goes on", 7, thread.Running}} {
		c := &scripted{}
		m := newScripted(t, c, &said{})
		c.head.Claim.Fence, c.head.Run.Status = tt.fence, tt.status
		if stepped, err := m.closeRun(t.Context()); !errors.Is(err, thread.ErrFenced) || len(c.asked) != 0 {
			t.Errorf("a head %s: the close comes to %+v, %v, behind %d writes; want a lost claim", tt.name, stepped, err, len(c.asked))
		}
	}
}
