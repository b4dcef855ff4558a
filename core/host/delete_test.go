package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/tool"
)

// A deleted thread stops whoever works on it, and what they still write is erased; a
// stream of it ends, and is not found again but deleted.
func TestADeleteStopsItsWorkerAndItsStreams(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		tool       bool
	}{
		{"in a model", "slow: 600", false},
		{"in a tool", "call: wait {}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				stopped := time.Duration(0)
				process := r.process("w", r.store, func(c *host.Options) {
					c.Agents.Tools = append(c.Agents.Tools, waits(t, &stopped))
				})
				s := submission("t1", tt.text)
				receipt, err := process.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				got, done := r.follows(process, receipt.RunID)
				began := time.Now()
				time.AfterFunc(3*time.Second, func() {
					if err := r.process("other", r.store).DeleteThread(context.Background(), local, "t1", ""); err != nil {
						t.Error(err)
					}
				})
				hint, _ := r.queue.Receive()
				if err := process.WorkLocal(t.Context(), hint); err != nil {
					t.Errorf("the step of a deleted thread fails: %v", err)
				}
				if took := time.Since(began); took < 3*time.Second || took > 8*time.Second {
					t.Errorf("the worker stops after %s, want within 5 s of the delete", took)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if tt.tool != (stopped > 0) || stopped > 5*time.Second {
					t.Errorf("the tool was stopped after %s", stopped)
				}
				if last := got.lines[len(got.lines)-1]; last != "run_yield" {
					t.Errorf("the stream ends with %s", last)
				}
				if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); core.CodeOf(err) != core.CodeDeleted {
					t.Errorf("the stream goes on with %v, want code deleted", err)
				}
				for range 30 { // sweeps
					if _, err := process.Sweep(t.Context()); err != nil {
						t.Fatal(err)
					}
					for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
						if err := process.WorkLocal(t.Context(), hint); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Minute)
				}
				list, err := r.store.Records(t.Context(), s.Thread, "", "", 10)
				if head := r.head(s.Thread); err != nil || len(list) != 0 || !head.Erased || head.DueAt != 0 {
					t.Errorf("%d records are left, %v; the head is %+v", len(list), err, head)
				}
			})
		})
	}
}

// waits is a tool that ends when it is told to, and notes how long that took.
func waits(t *testing.T, stopped *time.Duration) tool.Tool {
	t.Helper()
	made := tool.New(tool.Spec{Name: "wait"}, func(ctx context.Context, _ tool.Call, _ map[string]any) (tool.Result, error) {
		began := time.Now()
		<-ctx.Done()
		*stopped = time.Since(began)
		return tool.Result{}, ctx.Err()
	})
	return made
}

// A stream that follows a run which only waits in the queue hears of the delete too.
func TestAStreamOfAQueuedRunEndsWithItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		receipt, err := process.Submit(t.Context(), submission("t1", "hi"))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := process.DeleteThread(context.Background(), local, "t1", ""); err != nil {
				t.Error(err)
			}
		})
		var got events
		began := time.Now()
		if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"run_start", "run_yield"}, got.lines); diff != "" || time.Since(began) != time.Second {
			t.Errorf("after %s (-want +got):\n%s", time.Since(began), diff)
		}
	})
}
