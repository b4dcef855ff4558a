package host_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// Input that is steered to a streamed run while it makes its last turn gets
// its reply on the same stream, delta by delta: the stream keeps its claim.
func TestSteeredInputGetsItsReplyOnTheRunningStream(t *testing.T) {
	w := newWorld(t, nil)
	var got events
	steered := false
	sink := func(e core.Event) error {
		if e.Type == core.EventTextDelta && !steered {
			steered = true
			more := submission("t1", "and more")
			more.Mode = mailbox.ModeSteer
			if _, err := w.Submit(t.Context(), more); err != nil {
				t.Error(err)
			}
		}
		return got.sink(e)
	}
	if _, err := w.Stream(t.Context(), submission("t1", "hello"), host.ListenerFunc(sink)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run_start",
		"step_start", "text_delta You said", "text_delta : hello", "inference_complete", "step_end",
		"step_start", "text_delta You said: ", "text_delta and more", "inference_complete", "step_end",
		`run_finish {"type":"natural_end"}`,
	}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Error(diff)
	}
	if n := w.drain(t); n != 0 {
		t.Errorf("%d wake-ups were sent for a run that nobody else had to take", n)
	}
	transcript := []string{"user: hello", "assistant: You said: hello", "user: and more", "assistant: You said: and more"}
	if diff := cmp.Diff(transcript, w.transcript(t, "t1")); diff != "" {
		t.Error(diff)
	}
}

// stuck is a model that never says anything.
type stuck struct{}

func (stuck) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}
}

// killed lets a process claim the thread's run and die in the middle.
func killed(t *testing.T, r *rig, key core.ThreadKey) {
	t.Helper()
	way := newWay(r.store)
	process := r.process("dying", way, func(c *host.Options) { c.Agents.Models["m"] = binding(stuck{}) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- process.WorkLocal(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}) }()
	time.Sleep(time.Second)
	way.kill()
	cancel()
	<-done
	if err := r.process("start", r.store).Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
		t.Fatal(err)
	}
}

// Input that was steered to a run and acknowledged is the next run's when that
// one is dead-lettered: the first starts it, under its own id, the rest is read
// by its first step.
func TestSteeredInputOutlivesADeadLetteredRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "slow: 20")
		first, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			killed(t, r, s.Thread)
		}
		var steered []mailbox.Receipt
		for _, text := range []string{"one", "two"} {
			more := submission("t1", text)
			more.Mode, more.Key.Value = mailbox.ModeSteer, text
			receipt, err := process.Submit(t.Context(), more)
			if err != nil || receipt.RunID != first.RunID {
				t.Fatalf("steered: %+v, %v; want the running run", receipt, err)
			}
			steered = append(steered, receipt)
		}
		killed(t, r, s.Thread)
		r.settle(process, s.Thread)

		want := []string{"user: slow: 20", "user: one", "user: two", "assistant: You said: two"}
		if diff := cmp.Diff(want, transcript(t, process, "t1")); diff != "" {
			t.Errorf("transcript (-want +got):\n%s", diff)
		}
		record, err := process.ReadRun(t.Context(), local, first.RunID)
		if err != nil || record.Termination.Code != "dead_letter" {
			t.Errorf("the first run: %+v, %v", record, err)
		}
		next := steered[0].DispatchID
		record, err = process.ReadRun(t.Context(), local, next)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationNatural || record.FirstSeq != 2 {
			t.Errorf("the run of the steered input: %+v, %v", record, err)
		}
		for _, text := range []string{"one", "two"} { // a retry learns who read it
			again := submission("t1", text)
			again.Mode, again.Key.Value = mailbox.ModeSteer, text
			receipt, err := process.Submit(t.Context(), again)
			if err != nil || !receipt.Duplicate || receipt.RunID != next {
				t.Errorf("%s again: %+v, %v, want run %s", text, receipt, err, next)
			}
		}
		r.settle(process, s.Thread)
		if diff := cmp.Diff(want, transcript(t, process, "t1")); diff != "" {
			t.Errorf("after the retries (-want +got):\n%s", diff)
		}
	})
}

// On a cancel and on an interrupt steered input ends with its run, visibly.
func TestSteeredInputEndsWithACancelledRun(t *testing.T) {
	tests := []struct {
		name string
		end  func(t *testing.T, process *host.Host, run core.ID)
		want []string
	}{
		{
			"cancel", func(t *testing.T, process *host.Host, run core.ID) {
				if err := process.CancelRun(t.Context(), local, run); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"user: slow: 20"},
		},
		{
			"interrupt", func(t *testing.T, process *host.Host, _ core.ID) {
				s := submission("t1", "hi")
				s.Mode = mailbox.ModeInterrupt
				if _, err := process.Submit(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"user: slow: 20", "user: hi", "assistant: You said: hi"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store)
				s := submission("t1", "slow: 20")
				first, err := process.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				killed(t, r, s.Thread) // the run is open
				more := submission("t1", "more")
				more.Mode, more.Key.Value = mailbox.ModeSteer, "more"
				receipt, err := process.Submit(t.Context(), more)
				if err != nil {
					t.Fatal(err)
				}
				tt.end(t, process, first.RunID)
				r.settle(process, s.Thread)
				if diff := cmp.Diff(tt.want, transcript(t, process, "t1")); diff != "" {
					t.Errorf("transcript (-want +got):\n%s", diff)
				}
				audit, ok, err := r.store.Get(t.Context(), s.Thread, recordname.Ended(receipt.DispatchID))
				if err != nil || !ok {
					t.Fatalf("no record says how the input ended: %v", err)
				}
				ended, err := thread.Records{}.DecodeAudit(audit.Payload)
				if err != nil || ended.Status != core.DispatchCancelled || ended.Run != first.RunID {
					t.Errorf("the input ended %+v, %v", ended, err)
				}
				again, err := process.Submit(t.Context(), more)
				if err != nil || !again.Duplicate || again.RunID != first.RunID {
					t.Errorf("a retry: %+v, %v", again, err)
				}
			})
		})
	}
}

// On a thread that has nothing to do an interrupt is an ordinary submission;
// one that became busy meanwhile is interrupted all the same.
func TestInterruptOfAnIdleThread(t *testing.T) {
	tests := []struct {
		name   string
		inline bool
	}{{"submitted", false}, {"streamed", true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				other := r.process("other", r.store)
				var between mailbox.Receipt
				way := newWay(r.store)
				way.at = 2 // after it has looked at the thread
				way.act = func() {
					var err error
					if between, err = other.Submit(t.Context(), submission("t1", "slow: 20")); err != nil {
						t.Error(err)
					}
				}
				process := r.process("w", way)
				s := submission("t1", "hi")
				s.Mode = mailbox.ModeInterrupt
				var receipt mailbox.Receipt
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					if tt.inline {
						receipt, err = process.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil }))
					} else {
						receipt, err = process.Submit(t.Context(), s)
					}
				}()
				synctest.Wait()
				r.settle(process, s.Thread)
				<-done
				if err != nil || receipt.Duplicate {
					t.Fatalf("%+v, %v", receipt, err)
				}
				superseded, err := other.ReadRun(t.Context(), local, between.RunID)
				if err != nil || superseded.Status != core.RunDone || superseded.Termination.Type != core.TerminationSuperseded {
					t.Errorf("the run that came between: %+v, %v", superseded, err)
				}
				if diff := cmp.Diff([]string{"user: hi", "assistant: You said: hi"}, transcript(t, other, "t1")); diff != "" {
					t.Errorf("transcript (-want +got):\n%s", diff)
				}
			})
		})
	}
}
