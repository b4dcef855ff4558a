package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/store"
)

// unanswered carries the n-th write of a head out, and its answer never comes.
type unanswered struct {
	store.Backend
	n      int32
	writes atomic.Int32 // the watch writes heads, too
}

func (u *unanswered) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	outcome, err := u.Backend.Commit(ctx, key, c)
	if u.writes.Add(1) == u.n {
		<-ctx.Done()
		return store.Outcome{}, context.Cause(ctx)
	}
	return outcome, err
}

// A step whose write was not answered while its lease held finds that the head has
// moved on without it. Nobody else is to go on: it is the one who wakes the thread.
func TestAWriteWithoutAnAnswerIsFollowedByAHint(t *testing.T) {
	tests := []struct {
		name string
		n    int32 // the write
		wait time.Duration
	}{
		{"of a claim that is given back", 4, 0}, // after those of the submission, the claim and the turn
		{"of a claim that stands", 3, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", &unanswered{Backend: r.store, n: tt.n}, func(c *runtime.Config) { c.Steps = 1 })
				submitAll(t, process, "echo: hello", "t1")
				hint, _ := r.queue.take()
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				if err := process.WorkLocal(ctx, hint); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.wait)
				for hint, ok := r.queue.take(); ok; hint, ok = r.queue.take() {
					if err := process.WorkLocal(t.Context(), hint); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(echoTranscript, transcript(t, process, "t1")); diff != "" {
					t.Errorf("transcript after the hints (-want +got):\n%s", diff)
				}
			})
		})
	}
}
