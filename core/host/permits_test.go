package host

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What a thread's head shows of its run.
var (
	plain   = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Attempts: 1}}
	lost    = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Lost: 1}}
	twice   = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Attempts: 1, Lost: 2}}                                          // it made progress in between
	again   = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Attempts: 1, Lost: 1}, Claim: thread.Claim{Fence: 3, Lease: 1}} // its lease is over
	suspect = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Attempts: 2, Lost: 2}}
	silent  = thread.Head{} // the store does not respond
	held    = thread.Head{Version: 1, Run: thread.Run{ID: core.ID{1}, Attempts: 2, Lost: 2}, Claim: thread.Claim{Fence: 3, Lease: 1 << 60}}
)

// work is a thread that a process is to work on; times are seconds.
type work struct {
	name     string
	at       int // it arrives
	head     thread.Head
	progress int // after its start; 0: only when it ends
	length   int
}

// admitAll lets work come and go, and returns when each started.
func admitAll(t *testing.T, works []work) map[string]int {
	permits, began := newPermits(env.System()), time.Now()
	started := map[string]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i, w := range works {
		wait.Go(func() {
			time.Sleep(time.Duration(w.at)*time.Second + time.Duration(i)*time.Nanosecond) // in their order
			permit, err := permits.acquire(t.Context(), nil, func() (thread.Head, error) { return w.head, nil })
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			started[w.name] = int(time.Since(began).Seconds())
			mu.Unlock()
			permit.classify(w.head.Run.Attempts+1 > thread.SuspectAt) // as its claim shows
			if w.progress > 0 {
				time.Sleep(time.Duration(w.progress) * time.Second)
				permit.classify(false)
			}
			time.Sleep(time.Duration(w.length-w.progress) * time.Second)
			permit.release()
		})
	}
	wait.Wait()
	if permits.running != 0 || permits.suspect != nil || len(permits.waiting) != 0 {
		t.Errorf("in the end %d run, %v is a suspect, %d wait", permits.running, permits.suspect, len(permits.waiting))
	}
	return started
}

func TestPermits(t *testing.T) {
	tests := []struct {
		name  string
		works []work
		want  map[string]int
	}{
		{
			"healthy runs go side by side",
			[]work{{"a", 0, plain, 0, 5}, {"b", 0, plain, 0, 5}, {"c", 1, lost, 0, 5}},
			map[string]int{"a": 0, "b": 0, "c": 1},
		},
		{
			"a suspect starts when nothing else runs",
			[]work{{"a", 0, plain, 0, 5}, {"b", 0, plain, 0, 7}, {"s", 1, suspect, 0, 3}},
			map[string]int{"a": 0, "b": 0, "s": 7},
		},
		{
			"never two suspects, and the first come first",
			[]work{{"s1", 0, suspect, 0, 3}, {"s2", 0, suspect, 0, 3}, {"s3", 1, suspect, 0, 3}},
			map[string]int{"s1": 0, "s2": 3, "s3": 6},
		},
		{
			"a suspect that made progress is still not joined by another",
			[]work{{"s1", 0, suspect, 1, 5}, {"s2", 0, suspect, 0, 3}},
			map[string]int{"s1": 0, "s2": 5},
		},
		{
			"nothing is claimed beside a suspect until it has made progress",
			[]work{{"s", 0, suspect, 4, 8}, {"a", 1, plain, 0, 1}, {"b", 1, lost, 0, 1}, {"c", 1, twice, 0, 1}},
			map[string]int{"s": 0, "a": 4, "b": 4, "c": 4},
		},
		{
			"beside a suspect that has run for 10 s only runs that lost at most one claim",
			[]work{{"s", 0, suspect, 0, 30}, {"a", 1, plain, 0, 1}, {"b", 1, lost, 0, 1}, {"c", 15, plain, 0, 1}, {"d", 1, twice, 0, 1}, {"e", 1, silent, 0, 1}, {"f", 1, again, 0, 1}},
			map[string]int{"s": 0, "a": 10, "b": 10, "c": 15, "d": 30, "e": 30, "f": 30},
		},
		{
			"before a suspect that has waited for less than 10 s others may start",
			[]work{{"a", 0, plain, 0, 20}, {"s", 1, suspect, 2, 5}, {"b", 10, plain, 0, 1}},
			map[string]int{"a": 0, "b": 10, "s": 20},
		},
		{
			"nothing new before a suspect that has waited for 10 s",
			[]work{{"a", 0, plain, 0, 20}, {"s", 1, suspect, 2, 5}, {"b", 11, plain, 0, 1}, {"c", 12, lost, 0, 1}},
			map[string]int{"a": 0, "s": 20, "b": 22, "c": 22},
		},
		{
			"a suspect that somebody holds is no suspect here",
			[]work{{"a", 0, plain, 0, 5}, {"h", 1, held, 0, 1}},
			map[string]int{"a": 0, "h": 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, admitAll(t, tt.works)); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Before its claim says what it is, whatever an idle process took may be a
// suspect.
func TestWhatAnIdleProcessTakesCountsAsSuspectUntilItIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		permits := newPermits(env.System())
		first, err := permits.acquire(t.Context(), nil, nil) // it looks at nothing
		if err != nil || !first.alone {
			t.Fatalf("permit %+v, %v", first, err)
		}
		if n := permits.newPermit(); permits.tryAcquire(n, false, false) {
			t.Error("another started beside it")
		}
		first.classify(false)
		if n := permits.newPermit(); !permits.tryAcquire(n, false, false) || n.alone {
			t.Errorf("nothing may start beside a healthy run, or it is alone: %+v", n)
		}
	})
}

func TestAKnownHeadIsNotReadAgainWhileNobodyIsInTheWay(t *testing.T) {
	permits := newPermits(env.System())
	for range 2 {
		if _, err := permits.acquire(t.Context(), &plain, nil); err != nil {
			t.Fatal(err)
		}
	}
	if permits.running != 2 {
		t.Errorf("%d run, want 2", permits.running)
	}
}

// Who waits reads the head again: the run may have made progress elsewhere.
func TestASuspectThatMadeProgressElsewhereWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		permits, began := newPermits(env.System()), time.Now()
		if _, err := permits.acquire(t.Context(), &plain, nil); err != nil {
			t.Fatal(err)
		}
		looks := 0
		permit, err := permits.acquire(t.Context(), &suspect, func() (thread.Head, error) {
			looks++
			if time.Since(began) < 3*time.Second {
				return suspect, nil
			}
			return plain, nil
		})
		if err != nil || permit.alone || time.Since(began) != 3*time.Second || looks != 6 || len(permits.waiting) != 0 {
			t.Errorf("permit %+v after %s and %d looks, %v, %d wait", permit, time.Since(began), looks, err, len(permits.waiting))
		}
	})
}

// Who waits starts when a permit is released, not when it looks the next time.
func TestASuspectStartsAsSoonAsNothingElseRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		permits, began := newPermits(env.System()), time.Now()
		first, err := permits.acquire(t.Context(), &plain, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(1234*time.Millisecond, first.release)
		_, err = permits.acquire(t.Context(), &suspect, func() (thread.Head, error) { return suspect, nil })
		if took := time.Since(began); err != nil || took != 1234*time.Millisecond {
			t.Errorf("it started after %s, %v", took, err)
		}
	})
}

// An idle process that a suspect is about to take is not idle.
func TestNobodySlipsInBeforeAWaitingSuspect(t *testing.T) {
	permits := newPermits(env.System())
	permits.waiting = []*permit{{permits: permits, since: permits.env.Millis()}}
	if n := (&permit{permits: permits}); permits.acquireIdle(n) {
		t.Error("the process counts as idle")
	}
}

func TestASuspectThatGivesUpHoldsUpNobody(t *testing.T) {
	gone, broken := errors.New("gone"), errors.New("broken")
	tests := []struct {
		name string
		look error // after 2 s
		ctx  error // after 3 s
		want error
	}{
		{"its context ends", nil, gone, gone},
		{"its head cannot be read", broken, nil, broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				permits, began := newPermits(env.System()), time.Now()
				if _, err := permits.acquire(t.Context(), &plain, nil); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.ctx != nil {
					time.AfterFunc(3*time.Second, func() { cancel(tt.ctx) })
				}
				_, err := permits.acquire(ctx, nil, func() (thread.Head, error) {
					if time.Since(began) >= 2*time.Second {
						return suspect, tt.look
					}
					return suspect, nil
				})
				if !errors.Is(err, tt.want) {
					t.Errorf("acquire returns %v, want %v", err, tt.want)
				}
				time.Sleep(20 * time.Second)
				if n := permits.newPermit(); !permits.tryAcquire(n, false, false) || permits.running != 2 {
					t.Errorf("a healthy run may not start, %d run", permits.running)
				}
			})
		})
	}
}
