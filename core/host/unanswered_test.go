package host_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// unanswered carries the n-th write of a head out, and its response never comes.
func unanswered(to store.Backend, n int32) store.Backend {
	var writes atomic.Int32 // the watch writes heads, too
	return &storetest.Faulty{Backend: to, Around: func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		err := do(ctx)
		if op.Method == "Commit" && writes.Add(1) == n {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return err
	}}
}

// A step whose write got no response while its lease held finds that the head has
// moved on without it. Nobody else is to go on: it is the one who wakes the thread.
func TestAWriteWithoutAResponseIsFollowedByAHint(t *testing.T) {
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
				process := r.process("w", unanswered(r.store, tt.n), func(c *host.Options) { c.Steps = 1 })
				submitAll(t, process, "echo: hello", "t1")
				hint, _ := r.queue.Receive()
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				if err := process.WorkLocal(ctx, hint); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.wait)
				for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
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
