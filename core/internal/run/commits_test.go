package run

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// kinds is a write with a record of each kind.
type kinds struct{ err error }

func (k kinds) change(fence uint64) thread.Change { return thread.CommitTurn{Fence: fence} }

func (k kinds) records(p *plan, next thread.Head, _ thread.Result) {
	for _, name := range []string{store.LogName(4), recordname.Run(core.ID{1}), recordname.Activity, recordname.Usage(core.ID{1}, 1), recordname.End(core.ID{1}, next.Version), recordname.Input(core.ID{1}, 1)} {
		p.add(store.Record{Name: name}, nil)
	}
	p.fails(k.err)
}

// What becomes of a write: which changes the head is asked for, under which fences, what its
// records are stamped with, and what the step knows behind it.
func TestHowAStepWrites(t *testing.T) {
	conflict, reset := &store.RefusedError{Name: "M#4", Cause: store.ErrConflict}, errors.New("reset")
	turn := func(fence uint64) thread.Change { return thread.CommitTurn{Fence: fence} }
	next := func(fence uint64) thread.Change { return thread.Refence{Fence: fence} }
	stamped := func(fence, version uint64) []string {
		both := fmt.Sprintf("f%d v%d", fence, version)
		return []string{fmt.Sprintf("M f%d v0", fence), "R " + both, "L " + both, "U " + both, "C " + both, "Q f0 v0"}
	}
	tests := []struct {
		name    string
		write   kinds
		refused []error // the changes, in their order; nil: it succeeds
		asked   []thread.Change
		stamps  []string
		version uint64
		failure string
	}{
		{"taken at once", kinds{}, nil, []thread.Change{turn(7)}, stamped(7, 21), 21, ""},
		{"taken under the next fence", kinds{}, []error{conflict}, []thread.Change{turn(7), next(7), turn(8)}, stamped(8, 22), 22, ""},
		{"no next fence", kinds{}, []error{conflict, reset}, []thread.Change{turn(7), next(7)}, nil, 20, "reset"},
		{"too large", kinds{}, []error{store.ErrTooLarge}, []thread.Change{turn(7)}, nil, 20, "too_large: record is over the size limit"},
		{"refused", kinds{}, []error{reset}, []thread.Change{turn(7)}, nil, 20, "reset"},
		{"not encoded", kinds{reset}, nil, []thread.Change{turn(7)}, stamped(7, 21), 20, "encoding: reset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log said
			c := &scripted{apply: func(n int, head *thread.Head) error {
				if n <= len(tt.refused) && tt.refused[n-1] != nil {
					return tt.refused[n-1]
				}
				if n == 2 {
					head.Claim.Fence++
				}
				return nil
			}}
			h := &newScripted(t, c, &log).holder
			h.head.Claim.Lease = time.Now().Add(time.Hour).UnixMilli()
			p, _, err := h.write(t.Context(), tt.write)
			got := ""
			if err != nil {
				got = err.Error()
				if end, ok := errors.AsType[*ended](err); ok {
					got = end.termination.Code + ": " + end.cause.Error()
				}
			}
			if got != tt.failure || (p != nil) != (err == nil) || h.moved != (err == nil) {
				t.Errorf("it comes to %q with a plan %t and moved %t, want %q", got, p != nil, h.moved, tt.failure)
			}
			if diff := cmp.Diff(tt.asked, c.asked); diff != "" {
				t.Errorf("the head is asked for (-want +got):\n%s", diff)
			}
			var stamps []string
			for _, r := range c.built {
				stamps = append(stamps, fmt.Sprintf("%c f%d v%d", r.Name[0], r.Fence, r.Version))
			}
			if diff := cmp.Diff(tt.stamps, stamps); diff != "" {
				t.Errorf("its records (-want +got):\n%s", diff)
			}
			if h.head.Version != tt.version {
				t.Errorf("the head is known at version %d, want %d", h.head.Version, tt.version)
			}
		})
	}
	over, stop := context.WithCancelCause(t.Context())
	stop(reset)
	c := &scripted{}
	m := newScripted(t, c, &said{})
	if _, _, err := m.holder.write(over, kinds{}); !errors.Is(err, reset) || len(c.asked) != 0 {
		t.Errorf("without time it comes to %v behind %d writes, want none", err, len(c.asked))
	}
	if err := m.holder.refence(over, m.holder.head); !errors.Is(err, reset) || len(c.asked) != 0 {
		t.Errorf("a fence without time: %v behind %d writes, want none", err, len(c.asked))
	}
}

// A new fence is the step's if nobody has taken the run since. It renews a lease that is over.
func TestHowAStepTakesANewFence(t *testing.T) {
	reset := errors.New("reset")
	tests := []struct {
		name    string
		left    time.Duration // of the lease
		fence   uint64        // of the head behind the write
		refused error
		want    thread.Refence
		failure error
		now     uint64 // the step's fence
	}{
		{"with time left", time.Millisecond, 8, nil, thread.Refence{Fence: 7}, nil, 8},
		{"at the end of the lease", 0, 8, nil, thread.Refence{Fence: 7}, nil, 8},
		{"behind it", -time.Millisecond, 8, nil, thread.Refence{Fence: 7, Lease: 30_000}, nil, 8},
		{"that was lost", time.Minute, 9, nil, thread.Refence{Fence: 7}, thread.ErrFenced, 7},
		{"that is refused", time.Minute, 8, reset, thread.Refence{Fence: 7}, reset, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h *holder
				c := &scripted{apply: func(_ int, head *thread.Head) error {
					if !h.shared.hold.refencing.Load() {
						t.Error("the watch is not told")
					}
					head.Claim.Fence = tt.fence
					return tt.refused
				}}
				h = &newScripted(t, c, &said{}).holder
				h.head.Claim.Lease = time.Now().Add(tt.left).UnixMilli()
				if err := h.refence(t.Context(), h.head); !errors.Is(err, tt.failure) || h.fence() != tt.now || h.shared.hold.refencing.Load() {
					t.Errorf("it comes to %v under fence %d, and goes on %t; want %v under %d", err, h.fence(), h.shared.hold.refencing.Load(), tt.failure, tt.now)
				}
				if diff := cmp.Diff([]thread.Change{tt.want}, c.asked); diff != "" {
					t.Errorf("the head is asked for (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// How much time is left to store what is done: until the end of the invocation, or four seconds
// if the host stops. Otherwise the context of the step stays in use. Effects always have a second.
func TestTimeToHandBackWork(t *testing.T) {
	tests := []struct {
		name            string
		last            time.Duration // of the process's time from now on; 0: there is no end
		stops, late     bool
		left, free, act time.Duration // of detached, undisturbed and acting; 0: there is no end
		detachedFollows bool          // detached ends with its parent
	}{
		{"no end, and it goes on", 0, false, false, 0, 0, 0, true},
		{"no end, and it stops", 0, true, false, afterDeadline, 0, 0, false},
		{"no end, and it is late", 0, false, true, afterDeadline, 0, 0, false},
		{"it goes on", 9 * time.Second, false, false, 9 * time.Second, 9 * time.Second, 9 * time.Second, false},
		{"it stops", 9 * time.Second, true, false, afterDeadline, 9 * time.Second, 9 * time.Second, false},
		{"it is late", 9 * time.Second, false, true, 9 * time.Second, 9 * time.Second, 9 * time.Second, false},
		{"it is late, and near its end", time.Millisecond, false, true, time.Millisecond, time.Millisecond, time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &newScripted(t, &scripted{}, &said{}).holder
				if tt.last != 0 {
					h.last = time.Now().Add(tt.last)
				}
				parent, stop := context.WithCancel(t.Context())
				defer stop()
				if tt.stops {
					stop()
				}
				if tt.late {
					late, cancel := context.WithDeadline(parent, time.Now())
					defer cancel()
					parent = late
				}
				left := func(ctx context.Context, cancel context.CancelFunc) (time.Duration, error) {
					defer cancel()
					if until, ok := ctx.Deadline(); ok {
						return time.Until(until), ctx.Err()
					}
					return 0, ctx.Err()
				}
				if got, err := left(h.detached(parent)); got != tt.left || err != nil {
					t.Errorf("there are %s left, %v, want %s", got, err, tt.left)
				}
				if got, err := left(h.undisturbed(parent)); got != tt.free || err != nil {
					t.Errorf("there are %s left in any case, %v, want %s", got, err, tt.free)
				}
				if got, err := left(h.acting(parent)); got != tt.act || err != nil {
					t.Errorf("there are %s left for effects, %v, want %s", got, err, tt.act)
				}
				within, cancel := h.detached(parent)
				defer cancel()
				stop()
				if (within.Err() != nil) != tt.detachedFollows {
					t.Errorf("when the host stops it comes to %v", within.Err())
				}
			})
		})
	}
}
