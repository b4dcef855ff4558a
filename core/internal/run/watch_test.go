package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// looks is a committer for a watch alone: a head under fence 5, whose lease wants
// to be renewed.
type looks struct {
	head   func() thread.Head
	extend func() error
	fails  func() error // nil: no look does
}

func (l looks) Head(context.Context, core.ThreadKey) (thread.Head, error) {
	if l.fails != nil {
		if err := l.fails(); err != nil {
			return thread.Head{}, err
		}
	}
	return l.head(), nil
}

func (l looks) Commit(_ context.Context, _ core.ThreadKey, known thread.Head, _ thread.Change, _ func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	return known, thread.Result{}, l.extend()
}

// The step takes the next fence while its watch has a head in hand, or renews the
// lease: what the watch knows is old then, and the claim is not lost.
func TestWatchDoesNotTakeTheStepsNextFenceForALostClaim(t *testing.T) {
	under := func(fence uint64) thread.Head { return thread.Head{Claim: thread.Claim{Fence: fence}} }
	tests := []struct {
		name string
		// what the watch meets; the step's own fence is 5 before
		head   func(h *hold) thread.Head
		extend func(h *hold) error
		want   error
	}{
		{"the head was read before", func(h *hold) thread.Head { h.fence.Store(6); return under(5) }, nil, nil},
		{"the head was read in between", func(h *hold) thread.Head { h.refencing.Store(true); return under(6) }, nil, nil},
		{"the lease is renewed under the fence before", func(*hold) thread.Head { return under(5) },
			func(h *hold) error { h.fence.Store(6); return thread.ErrFenced }, nil},
		{"the lease is renewed while the next fence is taken", func(*hold) thread.Head { return under(5) },
			func(h *hold) error { h.refencing.Store(true); return thread.ErrFenced }, nil},
		{"the run is ended while the next fence is taken", func(*hold) thread.Head { return under(5) },
			func(h *hold) error { h.refencing.Store(true); return thread.ErrClosing }, thread.ErrClosing},
		{"a later claim", func(*hold) thread.Head { return under(6) }, nil, thread.ErrFenced},
		{"a later claim than the next fence", func(h *hold) thread.Head { h.refencing.Store(true); return under(7) }, nil, thread.ErrFenced},
		{"no claim", func(*hold) thread.Head { return under(0) }, nil, thread.ErrFenced},
		{"the claim is lost when the lease is renewed", func(*hold) thread.Head { return under(5) },
			func(*hold) error { return thread.ErrFenced }, thread.ErrFenced},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &looks{}
				m := (&Stepper{env: env.System(), committer: l, poll: time.Second, lease: 30 * time.Second}).newMachine(Work{Head: under(5)}, nil)
				l.head = func() thread.Head { return tt.head(&m.holder.shared.hold) }
				l.extend = func() error {
					if tt.extend == nil {
						return nil
					}
					return tt.extend(&m.holder.shared.hold)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // one look, at once
				defer cancel()
				if err := m.holder.watch(ctx); !errors.Is(err, tt.want) {
					t.Errorf("%v, want %v", err, tt.want)
				}
			})
		})
	}
}

// A renewal that is refused because the run was ended stops the step at once; one
// that fails for another reason is tried again at the next look.
func TestARefusedRenewalStopsTheStep(t *testing.T) {
	for _, tt := range []struct{ refusal, want error }{
		{thread.ErrSuperseded, thread.ErrSuperseded},
		{thread.ErrClosing, thread.ErrClosing},
		{thread.ErrDeleted, thread.ErrDeleted},
		{store.ErrThrottled, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			renewals := 0
			l := looks{head: func() thread.Head { return thread.Head{Claim: thread.Claim{Fence: 5}} }, extend: func() error { renewals++; return tt.refusal }}
			m := (&Stepper{env: env.System(), committer: l, poll: time.Second, lease: 30 * time.Second}).newMachine(Work{Head: l.head()}, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // two looks, the first at once
			defer cancel()
			err, want := m.holder.watch(ctx), 1
			if tt.want == nil {
				want = 2
			}
			if !errors.Is(err, tt.want) || renewals != want {
				t.Errorf("%v: error %v after %d renewals, want %v after %d", tt.refusal, err, renewals, tt.want, want)
			}
		})
	}
}

// A look that fails says nothing of the claim: the next one does.
func TestALookThatFailsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, renewals := 0, 0
		l := looks{
			fails:  func() error { tries++; return map[int]error{1: store.ErrThrottled, 2: store.ErrThrottled}[tries] },
			head:   func() thread.Head { return thread.Head{Claim: thread.Claim{Fence: 5}} },
			extend: func() error { renewals++; return nil },
		}
		m := (&Stepper{env: env.System(), committer: l, poll: time.Second, lease: 30 * time.Second}).newMachine(Work{Head: l.head()}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond) // four looks, the first at once
		defer cancel()
		if err := m.holder.watch(ctx); err != nil || tries != 4 || renewals != 2 {
			t.Errorf("error %v after %d looks and %d renewals, want none after four and two", err, tries, renewals)
		}
	})
}

// What the watch saw is why the work ended early, and no reason to forget what it
// came to.
func TestWorkBesideItsWatch(t *testing.T) {
	failed := errors.New("no route")
	for _, tt := range []struct {
		name string
		lost bool // the watch finds another claim after a second
		work func(ctx context.Context) (Stepped, error)
		want error
	}{
		{"it is stopped", true, func(ctx context.Context) (Stepped, error) { <-ctx.Done(); return Stepped{}, ctx.Err() }, thread.ErrFenced},
		{"it succeeds all the same", true, func(ctx context.Context) (Stepped, error) {
			<-ctx.Done()
			return Stepped{Outcome: thread.Done}, nil
		}, nil},
		{"it fails before", false, func(context.Context) (Stepped, error) { return Stepped{}, failed }, failed},
		{"it succeeds", false, func(context.Context) (Stepped, error) { return Stepped{Outcome: thread.Done}, nil }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fence := uint64(5)
				if tt.lost {
					fence = 7
				}
				l := looks{head: func() thread.Head { return thread.Head{Claim: thread.Claim{Fence: fence}} }, extend: func() error { return nil }}
				head := thread.Head{Claim: thread.Claim{Fence: 5}}
				m := (&Stepper{env: env.System(), committer: l, poll: time.Second, lease: 30 * time.Second}).newMachine(Work{Head: head}, nil)
				began := time.Now()
				stepped, err := m.holder.watched(t.Context(), tt.work) // synctest fails if the watch outlives it
				if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || stepped.Outcome != thread.Done) {
					t.Errorf("outcome %v, error %v, want %v", stepped.Outcome, err, tt.want)
				}
				if took := time.Since(began); tt.lost != (took == time.Second) || !tt.lost && took != 0 {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// What the step's own process writes stops the work at once, and no work behind it.
func TestWorkIsStoppedByItsOwnProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		head := thread.Head{Version: 10, Claim: thread.Claim{Fence: 5}}
		s := &Stepper{env: env.System(), poll: time.Minute, lease: 30 * time.Second}
		s.committer = looks{head: func() thread.Head { return head }, extend: func() error { return nil }}
		m := s.newMachine(Work{Head: head}, nil)
		s.under.enter(m.holder.Key, &m.holder.shared)
		began := time.Now()
		_, err := m.holder.watched(t.Context(), func(ctx context.Context) (Stepped, error) {
			s.Moved(m.holder.Key, under5(11, closing))
			<-ctx.Done()
			return Stepped{}, ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, thread.ErrClosing) || took != 0 {
			t.Errorf("the work ends with %v after %s, want it closed at once", err, took)
		}
		m.holder.head.Run.Status = thread.Closing // a remedy ends the run
		if _, err := m.holder.watched(t.Context(), func(ctx context.Context) (Stepped, error) {
			s.Moved(m.holder.Key, under5(12, closing))
			return Stepped{}, ctx.Err()
		}); err != nil {
			t.Errorf("the work that closes the run ends with %v", err)
		}
		if m.holder.shared.told.group != nil {
			t.Error("work that is over can still be stopped")
		}
		s.under.exit(m.holder.Key, &m.holder.shared)
	})
}
