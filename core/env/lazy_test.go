package env_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

type contextKey struct{}

// TestContextsAreAsThoseOfPackageContext compares each with the one of package context that
// it replaces. The events that may end a context occur in all orders, before and after a call
// of Done.
func TestContextsAreAsThoseOfPackageContext(t *testing.T) {
	gone := errors.New("gone")
	type world struct {
		ctx  context.Context
		end  context.CancelCauseFunc // of the parent
		stop context.CancelFunc
	}
	wait := func(world) { time.Sleep(2 * time.Second) } // the deadline is in one
	ask := func(w world) { w.ctx.Done() }
	stop := func(w world) { w.stop() }
	end := func(w world) { w.end(gone) }
	tests := []struct {
		name  string
		steps []func(world)
		err   error
		cause error
	}{
		{"nothing", nil, nil, nil},
		{"asked", []func(world){ask}, nil, nil},
		{"stopped, parent ended", []func(world){stop, end}, context.Canceled, context.Canceled},
		{"parent ended, stopped", []func(world){end, stop}, context.Canceled, gone},
		{"asked, parent ended, stopped", []func(world){ask, end, stop}, context.Canceled, gone},
		{"stopped", []func(world){stop}, context.Canceled, context.Canceled},
		{"asked, stopped", []func(world){ask, stop}, context.Canceled, context.Canceled},
		{"its time passed", []func(world){wait}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"asked, its time passed", []func(world){ask, wait}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"parent ended", []func(world){end}, context.Canceled, gone},
		{"asked, parent ended", []func(world){ask, end}, context.Canceled, gone},
		{"its time passed, stopped", []func(world){wait, stop}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"its time passed, parent ended", []func(world){ask, wait, end}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"stopped, its time passed", []func(world){stop, wait}, context.Canceled, context.Canceled},
		{"asked, its time passed, stopped", []func(world){ask, wait, stop}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"asked, stopped, parent ended", []func(world){ask, stop, end}, context.Canceled, context.Canceled},
	}
	for name, child := range map[string]func(context.Context, time.Time) (context.Context, context.CancelFunc){
		"deadline": env.System().WithDeadline, "deadline of context": context.WithDeadline,
		"cancel": func(parent context.Context, _ time.Time) (context.Context, context.CancelFunc) {
			return env.Cancellable(parent)
		},
		"cancel of context": func(parent context.Context, _ time.Time) (context.Context, context.CancelFunc) {
			return context.WithCancel(parent)
		},
		"group": func(parent context.Context, _ time.Time) (context.Context, context.CancelFunc) {
			group, ctx := env.System().Group(parent)
			return ctx, group.Cancel
		},
	} {
		timed := strings.HasPrefix(name, "deadline")
		for _, tt := range tests {
			if strings.Contains(tt.name, "time") && !timed {
				continue // it has none
			}
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, end := context.WithCancelCause(context.WithValue(t.Context(), contextKey{}, "value"))
					defer end(nil)
					ctx, stop := child(parent, time.Now().Add(time.Second))
					defer stop()
					for _, step := range tt.steps {
						step(world{ctx: ctx, end: end, stop: stop})
						synctest.Wait()
					}
					// Cause first: it must not depend on whether Err was asked.
					if cause := context.Cause(ctx); cause != tt.cause {
						t.Errorf("the cause is %v, want %v", cause, tt.cause)
					}
					if err := ctx.Err(); err != tt.err {
						t.Errorf("Err is %v, want %v", err, tt.err)
					}
					if _, ok := ctx.Deadline(); ok != timed {
						t.Errorf("it has a deadline: %t", ok)
					}
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					if err := child.Err(); err != tt.err {
						t.Errorf("Err of a child is %v, want %v", err, tt.err)
					}
					if value := child.Value(contextKey{}); value != "value" {
						t.Errorf("the parent's value is %v", value)
					}
				})
			})
		}
	}
}

func TestChildEndsWithItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := env.System().WithTimeout(t.Context(), time.Second)
		defer stop()
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		start := time.Now()
		<-child.Done()
		if took := time.Since(start); took != time.Second || context.Cause(child) != context.DeadlineExceeded {
			t.Errorf("the child ended after %s with the cause %v", took, context.Cause(child))
		}
	})
}

func TestEarlierDeadlineOfTheParentHolds(t *testing.T) {
	parent, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, at := range []int64{1, 2} {
		ctx, stop := env.System().WithDeadline(parent, time.Unix(at, 0))
		defer stop()
		if got, ok := ctx.Deadline(); !ok || !got.Equal(time.Unix(1, 0)) || ctx.Err() != context.DeadlineExceeded {
			t.Errorf("the deadline is %s, %t, Err %v", got, ok, ctx.Err())
		}
	}
}

// The cause of a group is what ended its context first, with and without a call of Done.
func TestCauseOfAGroupIsItsFirstEnd(t *testing.T) {
	gone, failed := errors.New("gone"), errors.New("failed")
	for _, tt := range []struct {
		name        string
		asked, last bool // the parent ends last
		want        error
	}{{"failed", false, true, failed}, {"asked, failed", true, true, failed}, {"parent first", false, false, gone}, {"asked, parent first", true, false, gone}} {
		parent, end := context.WithCancelCause(t.Context())
		group, ctx := env.System().Group(parent)
		if tt.asked {
			ctx.Done()
		}
		if !tt.last {
			end(gone)
		}
		group.Fail(failed)
		end(gone)
		if got := context.Cause(ctx); got != tt.want {
			t.Errorf("%s: the cause is %v, want %v", tt.name, got, tt.want)
		}
		if err := group.Wait(); err != failed {
			t.Errorf("%s: Wait returns %v", tt.name, err)
		}
	}
}

// As long as no goroutine waits for a context, it makes nothing of package context.
func TestNobodyWaitsAndNothingIsMade(t *testing.T) {
	parent, end := context.WithCancel(t.Context())
	defer end()
	if got := testing.AllocsPerRun(100, func() {
		ctx, stop := env.Cancellable(parent)
		if ctx.Err() != nil {
			t.Error("it has ended")
		}
		stop()
	}); got > 2 { // the context and the function
		t.Errorf("a context without a waiting goroutine makes %g objects", got)
	}
}
