package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/thread"
)

// TestInterferenceAtEveryOperation runs a worker and lets somebody else act on
// the thread just before each operation that the worker makes of the store.
func TestInterferenceAtEveryOperation(t *testing.T) {
	tests := []struct {
		name string
		act  func(t *testing.T, r *rig, other *runtime.Runtime, first mailbox.Receipt)
		ends []string // of the first run
		tail []string // that the transcript must end with
		once bool     // no call may run twice
	}{
		{
			name: "cancel", once: true,
			act: func(t *testing.T, _ *rig, other *runtime.Runtime, first mailbox.Receipt) {
				if err := other.CancelRun(t.Context(), local, first.RunID); err != nil && core.CodeOf(err) != core.CodeNotFound {
					t.Error(err)
				}
			},
			ends: []string{"cancelled", "natural_end"},
		},
		{
			name: "interrupt", once: true,
			act: func(t *testing.T, _ *rig, other *runtime.Runtime, _ mailbox.Receipt) {
				s := submission("t1", "hi")
				s.Mode = mailbox.ModeInterrupt
				if _, err := other.Submit(t.Context(), s); err != nil {
					t.Error(err)
				}
			},
			ends: []string{"superseded", "natural_end"},
			tail: []string{"user: hi", "assistant: You said: hi"},
		},
		{
			name: "queue", once: true,
			act: func(t *testing.T, _ *rig, other *runtime.Runtime, _ mailbox.Receipt) {
				if _, err := other.Submit(t.Context(), submission("t1", "hi")); err != nil {
					t.Error(err)
				}
			},
			ends: []string{"natural_end"},
			tail: []string{"user: hi", "assistant: You said: hi"},
		},
		{
			name: "steer", once: true,
			act: func(t *testing.T, _ *rig, other *runtime.Runtime, _ mailbox.Receipt) {
				s := submission("t1", "hi")
				s.Mode = mailbox.ModeSteer
				if _, err := other.Submit(t.Context(), s); err != nil {
					t.Error(err)
				}
			},
			ends: []string{"natural_end"},
			tail: []string{"user: hi", "assistant: You said: hi"},
		},
		{
			name: "a later claim, as after a pause longer than the lease",
			act: func(t *testing.T, r *rig, other *runtime.Runtime, first mailbox.Receipt) {
				if err := other.Reclaim(t.Context(), []core.ThreadKey{{Tenant: "local", Thread: "t1"}}); err != nil {
					t.Error(err)
				}
				for range 2 {
					if err := other.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: "t1"}); err != nil {
						t.Error(err)
					}
				}
			},
			ends: []string{"natural_end"},
			tail: parallelTranscript,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for k, reached := 1, true; reached && !t.Failed(); k++ {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					other := r.process("other", r.store)
					way := &faulty{Backend: r.store, at: k}
					worker := r.process("worker", way)
					receipt, err := other.Submit(t.Context(), submission("t1", "parallel: a, b"))
					if err != nil {
						t.Fatal(err)
					}
					way.act = func() { tt.act(t, r, other, receipt) }
					r.settle(worker, core.ThreadKey{Tenant: "local", Thread: "t1"})
					checkInterfered(t, r, receipt, k, tt.ends, tt.tail, tt.once)
					reached = way.reached()
				})
			}
		})
	}
}

// checkInterfered checks what holds whoever came between: every call has its one
// result, no call ran twice, the run ended in one of the ways.
func checkInterfered(t *testing.T, r *rig, receipt mailbox.Receipt, k int, ends, tail []string, once bool) {
	t.Helper()
	reader := r.process("reader", r.store)
	page, err := reader.Messages(t.Context(), local, "t1", runtime.MessageQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	var open []string // calls that have no result yet
	for i, m := range page.Messages {
		if m.Role != core.RoleTool && len(open) > 0 {
			t.Errorf("operation %d: message %d comes before the results of %v", k, i, open)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
		if m.Role == core.RoleTool {
			if len(open) == 0 || open[0] != m.ToolResult.CallID {
				t.Fatalf("operation %d: result of %s, open are %v", k, m.ToolResult.CallID, open)
			}
			open = open[1:]
		}
	}
	got := transcript(t, reader, "t1")
	record, err := reader.Run(t.Context(), local, receipt.RunID)
	if err != nil || record.Status != core.RunDone || !strings.Contains(strings.Join(ends, " "), string(record.Termination.Type)) {
		t.Errorf("operation %d: run %+v, %v", k, record, err)
	}
	kept := len(got) > 0 && got[0] == parallelTranscript[0]
	if begun := record.FirstSeq > 0; len(open) > 0 || kept != begun {
		t.Errorf("operation %d: calls %v are open, the run had begun: %v, in\n%s", k, open, begun, strings.Join(got, "\n"))
	}
	// The last operation is one that the worker did not make: nobody acted.
	if acted := len(got) >= len(tail) && cmp.Equal(append([]string{}, got[len(got)-len(tail):]...), append([]string{}, tail...)); !acted && !cmp.Equal(got, parallelTranscript) {
		t.Errorf("operation %d: transcript\n%s", k, strings.Join(got, "\n"))
	}
	for call, n := range r.runs {
		if n > 1 && once {
			t.Errorf("operation %d: call %q was executed %d times", k, call, n)
		}
	}
}

// cancelling a run stops what it does within 5 s.
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
			hint, _ := r.queue.take()
			done <- process.WorkLocal(t.Context(), hint)
		}()
		time.Sleep(7 * time.Second)
		if err := process.CancelRun(t.Context(), local, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		cancelled := time.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(cancelled); took > 5*time.Second {
			t.Errorf("the worker stopped %s after the cancel", took)
		}
		if diff := cmp.Diff([]string{"user: slow: 600"}, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
		record, err := process.Run(t.Context(), local, receipt.RunID)
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
			hint, _ := r.queue.take()
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
		process := r.process("w", r.store, func(c *runtime.Config) { c.Lease = time.Second })
		s := submission("t1", "slow: 60")
		done := make(chan error)
		go func() {
			_, err := process.Stream(t.Context(), s, func(core.Event) error { return nil })
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

// What fails for a passing reason comes again after a growing pause, five times
// in all.
func TestFailedStepsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *runtime.Config) { c.Agents.Models["m"] = binding(truncated{}) })
		s := submission("t1", "hi")
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		limits := []int64{500, 1000, 2000, 4000} // full jitter over 250 ms * 2^attempt
		for _, limit := range limits {
			hint, ok := r.queue.take()
			if !ok {
				t.Fatal("no hint is due")
			}
			if err := process.WorkLocal(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
			head, err := r.store.Head(t.Context(), s.Thread)
			if err != nil {
				t.Fatal(err)
			}
			wait := head.Run.AvailableAt - time.Now().UnixMilli()
			if head.Claim.Fence != 0 || head.Run.Status != thread.Running || wait < 0 || wait >= limit {
				t.Errorf("after attempt %d the next is due in %d ms, want under %d", head.Run.Attempts, wait, limit)
			}
			time.Sleep(time.Duration(wait+1) * time.Millisecond)
		}
		r.settle(process, s.Thread)
		head, err := r.store.Head(t.Context(), s.Thread)
		if err != nil || head.Open() || head.Fence != 5 {
			t.Errorf("head %+v, %v; want five claims", head, err)
		}
	})
}
