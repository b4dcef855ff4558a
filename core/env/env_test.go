package env_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

func TestNewIDIsAUUIDOfVersion7(t *testing.T) {
	e := env.System()
	e.Now = func() time.Time { return time.UnixMilli(0x0190_ab12_cd34) }
	tests := []struct {
		random byte
		want   string
	}{
		{0x00, "0190ab12-cd34-7000-8000-000000000000"},
		{0xff, "0190ab12-cd34-7fff-bfff-ffffffffffff"},
		{0x5a, "0190ab12-cd34-7a5a-9a5a-5a5a5a5a5a5a"},
	}
	for _, tt := range tests {
		e.Random = func(b []byte) {
			for i := range b {
				b[i] = tt.random
			}
		}
		if got := e.NewID().String(); got != tt.want {
			t.Errorf("NewID is %s, want %s", got, tt.want)
		}
	}
}

func TestNewIDsDiffer(t *testing.T) {
	e, seen := env.System(), map[core.ID]bool{}
	for range 10_000 {
		id := e.NewID()
		if seen[id] {
			t.Fatalf("%s was made twice", id)
		}
		seen[id] = true
	}
}

func TestJitter(t *testing.T) {
	e := env.System()
	for range 1000 {
		if d := e.Jitter(time.Millisecond); d < 0 || d >= time.Millisecond {
			t.Fatalf("Jitter(1ms) is %s", d)
		}
	}
	for _, limit := range []time.Duration{0, -1} {
		if d := e.Jitter(limit); d != 0 {
			t.Errorf("Jitter(%s) is %s, want 0", limit, d)
		}
	}
	e.Random = func(b []byte) { copy(b, []byte{0, 0, 0, 0, 0, 0, 0, 7}) }
	if d := e.Jitter(5); d != 2 {
		t.Errorf("Jitter(5) of 7 is %d, want 2", d)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, start := env.System(), time.Now()
		if err := e.Sleep(t.Context(), 3*time.Second); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("slept %s, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := e.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("slept %s, %v", time.Since(start), err)
		}
	})
}

func TestGroupWaitsForAllAndReturnsTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		group, shared := env.System().Group(t.Context())
		var over atomic.Int32
		after := func(d time.Duration, err error) {
			group.Go(func(context.Context) error {
				time.Sleep(d)
				over.Add(1)
				return err
			})
		}
		after(3*time.Second, second)
		after(time.Second, nil)
		after(2*time.Second, first)
		group.Go(func(ctx context.Context) error { // the first error ends its context
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), first) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return ctx.Err()
		})
		start := time.Now()
		if err := group.Wait(); !errors.Is(err, first) || over.Load() != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("Wait returns %v after %s and %d functions", err, time.Since(start), over.Load())
		}
		if !errors.Is(context.Cause(shared), first) {
			t.Errorf("the shared context ended for %v", context.Cause(shared))
		}
	})
}

func TestGroupEndsItsContext(t *testing.T) {
	group, shared := env.System().Group(t.Context())
	if err := group.Wait(); err != nil || shared.Err() == nil {
		t.Errorf("Wait of nothing: %v, context %v", err, shared.Err())
	}
	group, shared = env.System().Group(t.Context())
	group.Go(func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	group.Cancel()
	if err := group.Wait(); err != nil || !errors.Is(shared.Err(), context.Canceled) {
		t.Errorf("Wait after Cancel: %v, context %v", err, shared.Err())
	}
}

func TestPanicIsTheErrorOfItsFunction(t *testing.T) {
	group, _ := env.System().Group(t.Context())
	group.Go(func(context.Context) error { panic("boom") })
	err := group.Wait()
	var panicked *env.PanicError
	if !errors.As(err, &panicked) || panicked.Value != "boom" || err.Error() != "panic: boom" || !strings.Contains(string(panicked.Stack), "env_test.go") {
		t.Errorf("Wait returns %v", err)
	}
	if err := env.Protect(func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("Protect returns %v", err)
	}
	if err := env.Protect(func() error { return nil }); err != nil {
		t.Errorf("Protect returns %v", err)
	}
}

func TestWaitEndsWithItsChannelOrItsContext(t *testing.T) {
	closed, open := make(chan struct{}), make(chan struct{})
	close(closed)
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	tests := []struct {
		name string
		ctx  context.Context
		done <-chan struct{}
		want string
	}{
		{"closed", t.Context(), closed, ""},
		{"both", gone, closed, ""},
		{"context over", gone, open, "gone"},
	}
	for _, tt := range tests {
		for range 20 { // select picks among what is ready
			got := ""
			if err := env.System().Wait(tt.ctx, tt.done); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%s: Wait returns %q, want %q", tt.name, got, tt.want)
			}
		}
	}
}

func TestDeadlinesAreByTheClockOfEnv(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := env.System()
		ctx, cancel := e.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if at, ok := ctx.Deadline(); !ok || !at.Equal(start.Add(3*time.Second)) {
			t.Errorf("the deadline is %s, %t", at, ok)
		}
		if err := e.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("slept %s, %v", time.Since(start), err)
		}
		e.Now = func() time.Time { return start.Add(time.Minute) }
		ctx, cancel = e.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if at, _ := ctx.Deadline(); !at.Equal(start.Add(61 * time.Second)) {
			t.Errorf("the deadline is %s by another clock", at)
		}
		ctx, cancel = e.WithDeadline(t.Context(), start)
		defer cancel()
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("the cause of a deadline that has passed is %v", context.Cause(ctx))
		}
	})
}

func TestGroupWaitsAgainForWhatWasStartedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, _ := env.System().Group(t.Context())
		var over atomic.Int32
		sleeper := func(context.Context) error {
			time.Sleep(time.Second)
			over.Add(1)
			return nil
		}
		group.Go(func(context.Context) error {
			group.Go(sleeper)
			return nil
		})
		if err := group.Wait(); err != nil || over.Load() != 1 {
			t.Errorf("Wait returns %v after %d functions, want 1", err, over.Load())
		}
		group.Go(sleeper)
		if err := group.Wait(); err != nil || over.Load() != 2 {
			t.Errorf("Wait returns %v after %d functions, want 2", err, over.Load())
		}
	})
}

func TestEachCallsAllAtOnceAndReturnsTheErrorOfTheLowestNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, began := env.System(), time.Now()
		failed := map[int]error{1: errors.New("one"), 2: errors.New("two")}
		var called [4]atomic.Int32
		err := e.Each(4, func(i int) error {
			called[i].Add(1)
			time.Sleep(time.Duration(4-i) * time.Second) // the highest number returns first
			return failed[i]
		})
		if err != failed[1] {
			t.Errorf("Each returns %v, want %v", err, failed[1])
		}
		for i := range called {
			if n := called[i].Load(); n != 1 {
				t.Errorf("%d was called %d times, want once", i, n)
			}
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it took %s, want 4s, the longest call's", took)
		}
	})
}

func TestEachMakesAPanicTheErrorOfItsNumber(t *testing.T) {
	for _, panics := range []int{0, 1} {
		err := env.System().Each(2, func(i int) error {
			if i == panics {
				panic("boom")
			}
			return nil
		})
		var panicked *env.PanicError
		if !errors.As(err, &panicked) || panicked.Value != "boom" {
			t.Errorf("a panic of %d: Each returns %v, want a PanicError of boom", panics, err)
		}
	}
}

func TestEachOfNoneCallsNothing(t *testing.T) {
	if err := env.System().Each(0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}

func TestLaterStartsBehindItsPauseOrNever(t *testing.T) {
	tests := []struct {
		name   string
		cancel time.Duration // when the group is cancelled
		calls  int32
		took   time.Duration // of Wait, from the beginning
	}{
		{"cancelled before", 2 * time.Second, 0, 2 * time.Second},
		{"cancelled while it runs", 4 * time.Second, 1, 5 * time.Second},
		{"cancelled behind it", 6 * time.Second, 1, 6 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				group, shared := env.System().Group(t.Context())
				var calls atomic.Int32
				group.Later(3*time.Second, func(ctx context.Context) error {
					if calls.Add(1); ctx != shared {
						t.Error("the function has another context than the group's")
					}
					time.Sleep(2 * time.Second)
					return nil
				})
				time.Sleep(tt.cancel)
				group.Cancel()
				group.Cancel() // a second time changes nothing
				if err := group.Wait(); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); calls.Load() != tt.calls || took != tt.took {
					t.Errorf("%d calls, Wait returned after %s, want %d and %s", calls.Load(), took, tt.calls, tt.took)
				}
				time.Sleep(time.Minute)
				if calls.Load() != tt.calls {
					t.Error("it was called behind Wait")
				}
			})
		})
	}
}

func TestWaitWaitsForWhatStartsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure, start := errors.New("failure"), time.Now()
		group, shared := env.System().Group(t.Context())
		group.Later(3*time.Second, func(context.Context) error { return failure })
		if err := group.Wait(); err != failure || time.Since(start) != 3*time.Second || context.Cause(shared) != failure {
			t.Errorf("Wait returns %v after %s, the context ended for %v", err, time.Since(start), context.Cause(shared))
		}
	})
}

// An error from outside ends a group's work as one of its functions does.
func TestGroupFailsFromOutside(t *testing.T) {
	group, ctx := env.System().Group(t.Context())
	group.Go(func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("cancelled")
	})
	ended, second := errors.New("ended"), errors.New("second")
	group.Fail(ended)
	group.Fail(second)
	if err := group.Wait(); err != ended || context.Cause(ctx) != ended {
		t.Errorf("the group returns %v, its context ends with %v; want the first", err, context.Cause(ctx))
	}
}
