package run

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func TestDefaultsOfAStepper(t *testing.T) {
	type limits struct {
		lease, poll time.Duration
		snapshot    int
	}
	tests := []struct {
		options Options
		want    limits
	}{
		{Options{}, limits{30 * time.Second, 2 * time.Second, 16}},
		{Options{Lease: 6 * time.Second, Snapshot: 3}, limits{6 * time.Second, time.Second, 3}},
		{Options{Lease: time.Minute, Poll: 9 * time.Second}, limits{time.Minute, 9 * time.Second, 16}},
		{Options{Lease: time.Minute, Poll: 11 * time.Second}, limits{time.Minute, 10 * time.Second, 16}},
	}
	for _, tt := range tests {
		o := tt.options
		o.Env, o.Store, o.Committer, o.Agents = env.System(), refusing{}, &mailbox.Service{}, nobody{}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := (limits{s.lease, s.poll, s.snapshotEvery}); got != tt.want || s.log == nil {
			t.Errorf("a stepper has %+v, want %+v", got, tt.want)
		}
	}
}

type nobody struct{ Agents }

func TestPutsThatFailForGood(t *testing.T) {
	for code, want := range map[core.Code]bool{
		core.CodeInvalid: true, core.CodeTooLarge: true, core.CodeCorrupt: true, core.CodeConflict: true, core.CodeFenced: true,
		core.CodeSchema: true, core.CodeDeleted: true, core.CodeInternal: false, core.CodeThrottled: false,
	} {
		if got := permanent(core.Errorf(code, "it failed")); got != want {
			t.Errorf("code %s is permanent: %v, want %v", code, got, want)
		}
	}
	for err, want := range map[error]bool{
		context.Canceled: false, context.DeadlineExceeded: false, errOver: true, &store.RefusedError{Name: "M#1", Cause: errors.New("taken")}: true, errors.New("reset"): false,
	} {
		if got := permanent(fmt.Errorf("put: %w", err)); got != want {
			t.Errorf("%v is permanent: %v, want %v", err, got, want)
		}
	}
}

// Pauses are full jitter: anything below the limit. 31 s less a nanosecond, taken
// modulo the limit, shows it. A store is spared for 400 ms at least.
func TestPausesAfterAFailure(t *testing.T) {
	e := env.System()
	e.Now = func() time.Time { return time.UnixMilli(1000) }
	e.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(31*time.Second-1)) }
	failed, over := errors.New("reset"), true
	tests := []struct {
		name     string
		cause    error
		attempts uint8
		over     bool
		late     bool
		kind     thread.NackKind
		at       int64
	}{
		{"below 250 ms", failed, 0, false, false, thread.NackFailed, 1249},
		{"below 500 ms", failed, 1, false, false, thread.NackFailed, 1499},
		{"below 16 s", failed, 6, false, false, thread.NackFailed, 15_999},
		{"below 30 s", failed, 7, false, false, thread.NackFailed, 1999},
		{"below 30 s, after however many", failed, 255, false, false, thread.NackFailed, 1999},
		{"the time was over", failed, 3, over, true, thread.NackFailed, 0},
		{"the host stops", failed, 3, over, false, thread.NackGiven, 0},
		{"an edited input", thread.ErrStale, 3, false, false, thread.NackGiven, 0},
		{"a newer program's record", core.Errorf(core.CodeSchema, "schema 2"), 3, over, true, thread.NackGiven, 31_000},
		{"a tool that another build has", &lacking{failed}, 3, false, false, thread.NackLacks, 6000},
		{"a store that is overloaded", core.Errorf(core.CodeThrottled, "slow down"), 3, false, false, thread.NackGiven, 1599},
		{"a store that is away", core.Errorf(core.CodeUnavailable, "no route"), 3, false, false, thread.NackGiven, 1599},
		{"a model that is overloaded", &inference.RetryError{Wait: 7 * time.Second, Cause: failed}, 3, over, true, thread.NackModel, 8000},
	}
	for _, tt := range tests {
		p := &holder{env: e, s: &Stepper{leaveFor: time.Hour}}
		p.head.Run.Attempts = tt.attempts
		if kind, at := p.nackKind(tt.cause, tt.over, tt.late); kind != tt.kind || at != tt.at {
			t.Errorf("%s: %v at %d, want %v at %d", tt.name, kind, at, tt.kind, tt.at)
		}
	}
}

// A step whose time was a whole invocation ends its run for that, unless the
// claim is lost: then the run is another worker's, and nothing is left to do.
func TestLostClaimHasNoRemedy(t *testing.T) {
	for err, want := range map[error]bool{
		thread.ErrFenced: false, thread.ErrDeleted: false, thread.ErrApplied: false, context.DeadlineExceeded: true,
	} {
		p := (&Stepper{}).newMachine(Work{Whole: true}, nil)
		p.base.agent = &registry.Resolved{}
		over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer cancel()
		if got := p.remedy(over, fmt.Errorf("commit: %w", err)) != nil; got != want {
			t.Errorf("%v has a remedy: %v, want %v", err, got, want)
		}
	}
}

// The pauses between the tries of a put double: of full jitter these are the
// longest.
func TestPausesBetweenPuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := env.System()
		e.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(3200*time.Millisecond-1)) }
		var after []time.Duration
		began := time.Now()
		p := &holder{env: e, s: &Stepper{store: refusing{asked: func() { after = append(after, time.Since(began).Round(time.Millisecond)) }}}}
		if err := p.put(t.Context(), store.Record{Name: "M#1"}); err == nil {
			t.Error("the put succeeded")
		}
		const ms = time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms}, after); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
	})
}

// refusing is a store that takes nothing.
type refusing struct {
	Store
	asked func()
}

func (r refusing) Put(context.Context, core.ThreadKey, store.Record) error {
	r.asked()
	return errors.New("reset")
}
