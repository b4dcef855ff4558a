package thread_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// hinted is a thread whose queue is sent second hints, with leases of 30 s.
type hinted struct {
	t      *testing.T
	head   thread.Head
	now    int64 // milliseconds
	writes int
	lease  int64 // 0: no second hints
}

// made is an id that was made at a time.
func made(at int64, n int) (id core.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(at)<<16)
	id[15] = byte(n)
	return id
}

// after applies a change some seconds later, and returns after how many more the second hint
// comes; 0: none is sent.
func (w *hinted) after(seconds float64, change thread.Change) float64 {
	w.t.Helper()
	w.now += int64(seconds * 1000)
	w.writes++
	next, result, err := thread.Apply(w.head, thread.Transition{Now: w.now, CommitID: made(w.now, w.writes), Second: w.lease, Change: change})
	if err != nil {
		w.t.Fatalf("%T: %v", change, err)
	}
	w.head = next
	if result.Second == 0 {
		return 0
	}
	if result.Second != next.SecondAt {
		w.t.Errorf("the second hint comes at %d, the head says %d", result.Second, next.SecondAt)
	}
	return float64(result.Second-w.now) / 1000
}

var (
	aRun    = thread.Enqueue{Dispatch: id("d1"), Run: id("r1")}
	nextRun = thread.Enqueue{Dispatch: id("d2"), Run: id("r2")}
	aChild  = thread.Enqueue{Dispatch: id("d1"), Run: id("r1"), Child: true}
	taken   = thread.TakeClaim{Worker: "w", Lease: 30_000}
	inline  = thread.TakeClaim{Worker: "w", Lease: 30_000, Inline: true}
	stream  = thread.EnqueueAndClaim{Enqueue: aRun, Worker: "w", Lease: 30_000}
)

func (w *hinted) extend() thread.ExtendLease {
	return thread.ExtendLease{Fence: w.head.Fence, Lease: 30_000}
}

// step is a commit that yields, or goes on under the claim.
func (w *hinted) step(keep bool) thread.CommitStep {
	return thread.CommitStep{Fence: w.head.Fence, From: w.head.Seq, Seq: w.head.Seq + 1, Outcome: thread.Yield, Keep: keep, Lease: 30_000}
}

func TestWhenASecondHintIsSent(t *testing.T) {
	type write struct {
		after  float64 // seconds
		change func(w *hinted) thread.Change
		want   float64 // the seconds until the second hint
	}
	is := func(c thread.Change) func(*hinted) thread.Change {
		return func(*hinted) thread.Change { return c }
	}
	yield := func(w *hinted) thread.Change { return w.step(false) }
	goesOn := func(w *hinted) thread.Change { return w.step(true) }
	extend := func(w *hinted) thread.Change { return w.extend() }
	done := func(w *hinted) thread.Change {
		c := w.step(false)
		c.Outcome = thread.Done
		return c
	}
	tests := []struct {
		name   string
		writes []write
	}{
		{"a run of short steps", []write{
			{0, is(aRun), 60}, {0.1, is(taken), 0}, {7, yield, 0}, {0.1, is(taken), 0}, {7, yield, 0}, {0.1, is(taken), 0},
			{7, yield, 60}, {0.1, is(taken), 0}, {7, done, 0},
		}},
		{"up to the limit", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {20, yield, 0}}},
		{"past the limit", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {20.001, yield, 60}}},
		{"a long step", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {20.001, extend, 0}, {20, extend, 60}, {20, extend, 0}, {20, extend, 60}}},
		{"a claim within the time of its hint", []write{{0, is(aRun), 60}, {25, is(taken), 0}}},
		{"a claim that comes late", []write{{0, is(aRun), 60}, {25.001, is(taken), 60}}},
		{"a claim of the second hint", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {60.05, is(taken), 60}}},
		{"a holder that keeps its claim", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {25, goesOn, 0}, {0.001, goesOn, 60}}},
		{"a streamed run", []write{{0, is(stream), 0}, {7, goesOn, 0}, {12.999, goesOn, 0}, {0.001, goesOn, 60}}},
		{"a streamed run of one long step", []write{{0, is(stream), 0}, {20.001, extend, 60}, {20, extend, 0}, {20, extend, 60}}},
		{"a stream that leaves its run to the queue", []write{{0, is(stream), 0}, {7, yield, 60}, {0, is(taken), 0}}},
		{"a stream of a thread that a worker had", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {1, done, 0}, {1, is(thread.EnqueueAndClaim{Enqueue: nextRun, Worker: "w", Lease: 30_000}), 0}, {7, goesOn, 0}}},
		{"a claim for a stream", []write{{0, is(aRun), 60}, {0, is(inline), 0}, {7, goesOn, 0}}},
		{"the next run in the queue", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {1, is(nextRun), 0}, {30, done, 60}}},
		{"a delayed run", []write{{0, is(thread.Enqueue{Dispatch: id("d1"), Run: id("r1"), AvailableAt: 1_001_000}), 0}, {1, is(taken), 60}}},
		{"a run that is tried later", []write{{0, is(aRun), 60}, {0, is(taken), 0}, {30, is(thread.Nack{Fence: 1, AvailableAt: 1_060_000}), 0}, {30, is(taken), 60}}},
		{"a thread that is deleted", []write{{0, is(stream), 0}, {25, is(thread.Delete{}), 0}}},
		{"a thread that is deleted and owes an end", []write{{0, is(aChild), 60}, {25.001, is(thread.Delete{}), 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, lease := range []int64{30_000, 0} {
				w := &hinted{t: t, now: 1_000_000, lease: lease}
				for i, step := range tt.writes {
					want := step.want
					if lease == 0 { // the queue does without
						want = 0
					}
					if got := w.after(step.after, step.change(w)); got != want {
						t.Errorf("lease %d: write %d sends a second hint for %v s later, want %v", lease, i+1, got, want)
					}
					if lease == 0 && w.head.SecondAt != 0 {
						t.Errorf("write %d notes a second hint", i+1)
					}
				}
			}
		})
	}
}

// The head has the time of a second hint until that has come.
func TestHowLongASecondHintIsNoted(t *testing.T) {
	w := &hinted{t: t, now: 1_000_000, lease: 30_000}
	w.after(0, aRun)
	w.after(0, taken)
	done := w.step(false)
	done.Outcome = thread.Done
	w.after(1, done)
	for _, touch := range []struct {
		after float64
		want  int64
	}{{59, 1_060_000}, {0.001, 0}} {
		if w.after(touch.after, thread.Touch{}); w.head.SecondAt != touch.want {
			t.Errorf("at %d the head notes %d, want %d", w.now, w.head.SecondAt, touch.want)
		}
	}
}

// While a worker has a claim, a second hint comes after the lease, and at most a lease after it:
// whatever dies, the run is found within two leases.
func TestASecondHintFollowsEveryClaimOfAWorker(t *testing.T) {
	for seed := range 200 {
		w := &hinted{t: t, now: 1_000_000, lease: 30_000}
		w.after(0, aRun)
		random := uint64(seed)*2654435761 + 1
		below := func(n uint64) uint64 {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			return random % n
		}
		for range 50 {
			switch pause := float64(below(20_000)) / 1000; {
			case w.head.Claim.Fence == 0:
				w.after(pause*2, taken)
			case below(3) == 0:
				w.after(pause, w.step(false))
			case below(2) == 0:
				w.after(pause, w.step(true))
			default:
				w.after(pause, w.extend())
			}
			if c := w.head.Claim; c.Fence != 0 && (w.head.SecondAt < c.Lease+5_000 || w.head.SecondAt > w.now+60_000) {
				t.Fatalf("seed %d: the lease ends at %d, the second hint comes at %d, now is %d", seed, c.Lease, w.head.SecondAt, w.now)
			}
		}
	}
}

func TestWhenAThreadIsLeft(t *testing.T) {
	tests := []struct {
		name   string
		writes func(w *hinted)
		after  time.Duration // how long it is not left yet; 0: it never is
	}{
		{"an open run that nobody claims", func(w *hinted) { w.after(0, aRun) }, 35 * time.Second},
		{"a run that is tried later", func(w *hinted) {
			w.after(0, aRun)
			w.after(0, taken)
			w.after(0, thread.Nack{Fence: 1, AvailableAt: 1_010_000})
		}, 45 * time.Second},
		{"a claim", func(w *hinted) { w.after(0, stream) }, 35 * time.Second},
		{"a claim that was renewed", func(w *hinted) {
			w.after(0, stream)
			w.after(20, w.extend())
		}, 35 * time.Second},
		{"a claim that was not renewed by a later write", func(w *hinted) {
			w.after(0, stream)
			w.after(20, nextRun)
		}, 15 * time.Second},
		{"a delayed run", func(w *hinted) {
			w.after(0, thread.Enqueue{Dispatch: id("d1"), Run: id("r1"), AvailableAt: 1_020_000})
		}, 55 * time.Second},
		{"a call that waits for a time", func(w *hinted) {
			w.after(0, aRun)
			w.after(0, taken)
			w.sleep(false, 1_060_000)
		}, 95 * time.Second},
		{"nothing to do", func(w *hinted) {
			w.after(0, aRun)
			w.after(0, taken)
			c := w.step(false)
			c.Outcome = thread.Done
			w.after(0, c)
		}, 0},
		{"a deleted thread", func(w *hinted) {
			w.after(0, aRun)
			w.after(0, thread.Delete{})
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &hinted{t: t, now: 1_000_000, lease: 30_000}
			tt.writes(w)
			at := w.now + tt.after.Milliseconds()
			if w.head.Left(at, 30_000) || w.head.Left(at+1, 30_000) != (tt.after != 0) {
				t.Errorf("after %s it is left %v, then %v", tt.after, w.head.Left(at, 30_000), w.head.Left(at+1, 30_000))
			}
			if tt.after == 0 && w.head.Left(at+1e9, 30_000) {
				t.Error("it is left")
			}
		})
	}
}
