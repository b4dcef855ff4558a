package host_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// Cancelling a run through another process stops what it does within 5 s.
func TestCancelStopsALongInference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		receipt, err := process.Submit(t.Context(), submission("t1", "slow: 600"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			hint, _ := r.queue.Receive()
			done <- process.WorkLocal(t.Context(), hint)
		}()
		time.Sleep(7 * time.Second)
		if err := r.process("another", r.store).CancelRun(t.Context(), local, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		cancelled := time.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(cancelled); took > 5*time.Second {
			t.Errorf("the worker stopped %s after the cancel", took)
		}
		// What the model had said stays: 79 words, or 80, since the last comes as the worker looks.
		lines := transcript(t, process, "t1")
		if len(lines) != 2 || !strings.HasPrefix(lines[1], "assistant: w1 w2 w3 ") || strings.Count(lines[1], " w") < 79 || strings.Count(lines[1], " w") > 80 {
			t.Errorf("transcript %q", lines)
		}
		record, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationCancelled {
			t.Errorf("run %+v, %v", record, err)
		}
	})
}

// A step of a minute keeps its claim of 30 s, since it is renewed.
func TestLeaseOfALongStepIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "slow: 600")
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			hint, _ := r.queue.Receive()
			done <- process.WorkLocal(t.Context(), hint)
		}()
		time.Sleep(time.Second)
		start := time.Now().UnixMilli()
		leases := map[int64]int64{} // lease left, by second
		for second := int64(1); second < 60; second++ {
			head, err := r.store.Head(t.Context(), s.Thread)
			if err != nil {
				t.Fatal(err)
			}
			leases[second] = head.Claim.Lease - time.Now().UnixMilli()
			if head.Claim.Fence != 1 || leases[second] < 8_000 {
				t.Errorf("after %d s the claim %d has %d ms left", second, head.Claim.Fence, leases[second])
			}
			time.Sleep(time.Second)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Now().UnixMilli() - start; took < 58_000 || leases[1] != 29_000 {
			t.Errorf("the step took %d ms, its first lease had %d left", took, leases[1])
		}
		head, err := r.store.Head(t.Context(), s.Thread)
		if err != nil || head.Open() || head.Fence != 1 {
			t.Errorf("head %+v, %v", head, err)
		}
	})
}

// However short the lease, it is renewed before it ends.
func TestShortestLeaseOfALongStepIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.Lease = time.Second })
		s := submission("t1", "slow: 60")
		done := make(chan error)
		go func() {
			_, err := process.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil }))
			done <- err
		}()
		time.Sleep(50 * time.Millisecond)
		for tenths := range 59 {
			head, err := r.store.Head(t.Context(), s.Thread)
			if err != nil {
				t.Fatal(err)
			}
			if left := head.Claim.Lease - time.Now().UnixMilli(); head.Claim.Fence != 1 || left < 150 {
				t.Errorf("after %d00 ms the claim %d has %d ms left", tenths, head.Claim.Fence, left)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A model that fails for a passing reason is called three times in all, by
// three deliveries with a pause before each, if the agent has no patience. These claims are no
// attempts.
func TestFailedModelCallsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) {
			c.Agents.Models["m"] = binding(counted{truncated{}, r})
			c.Agents.Specs[0].Retry.PatienceMS = new(0)
		})
		s := submission("t1", "hi")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for call, limit := range []int64{500, 1000} { // full jitter over 250 ms * 2^calls
			wait := workOnce(t, r, process, s.Thread)
			if head := r.head(s.Thread); head.Claim.Fence != 0 || head.Run.Attempts != 0 || wait <= 0 || wait >= limit {
				t.Errorf("after call %d the next is due in %d ms, want under %d: %+v", call+1, wait, limit, head)
			}
			time.Sleep(time.Duration(wait) * time.Millisecond)
		}
		workOnce(t, r, process, s.Thread)
		record, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationError || record.Termination.Code != "model" {
			t.Errorf("run %+v, %v", record, err)
		}
		if head := r.head(s.Thread); head.DueAt != 0 || head.Fence != 3 || r.inferences != 3 {
			t.Errorf("%d inferences, head %+v, want 3 and as many claims", r.inferences, head)
		}
	})
}

// workOnce works on the hint that is due and returns how long the thread's run
// has to wait then, in milliseconds.
func workOnce(t *testing.T, r *rig, process *host.Host, key core.ThreadKey) int64 {
	t.Helper()
	hint, ok := r.queue.Receive()
	if !ok {
		t.Fatalf("no hint is due: %+v", r.head(key))
	}
	if err := process.WorkLocal(t.Context(), hint); err != nil {
		t.Fatal(err)
	}
	return r.head(key).Run.AvailableAt - time.Now().UnixMilli()
}

// A step that fails comes again after a growing pause, five times in all; then
// the run is dead-lettered, by a process that can.
func TestFailedStepsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", &storetest.Faulty{Backend: r.store, OnGet: func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
			if strings.HasPrefix(name, "Q#") { // no queued input can be read
				return store.Record{}, false, errReset
			}
			return r.store.Get(ctx, key, name)
		}})
		s := submission("t1", "hi")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for n, limit := range []int64{500, 1000, 2000, 4000} { // full jitter over 250 ms * 2^attempts
			wait := workOnce(t, r, process, s.Thread)
			head := r.head(s.Thread)
			if head.Claim.Fence != 0 || head.Run.Status != thread.Running || int(head.Run.Attempts) != n+1 || wait <= 0 || wait >= limit {
				t.Errorf("after attempt %d the next is due in %d ms, want under %d: %+v", n+1, wait, limit, head)
			}
			time.Sleep(time.Duration(wait) * time.Millisecond)
		}
		workOnce(t, r, process, s.Thread)
		if head := r.head(s.Thread); head.Run.Status != thread.Closing || head.Run.Reason != thread.ReasonDeadLetter {
			t.Errorf("after attempt 5 the head is %+v", head)
		}
		r.settle(r.process("other", r.store), s.Thread)
		record, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationError || record.Termination.Code != "dead_letter" {
			t.Errorf("run %+v, %+v, %v", record, record.Termination, err)
		}
		if head := r.head(s.Thread); head.Fence != 6 || r.inferences != 0 {
			t.Errorf("%d inferences, head %+v, want 0 and 6 claims", r.inferences, head)
		}
	})
}
