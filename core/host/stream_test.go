package host_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// positions collects where a stream's events stand, with R for the run.
type positions struct {
	run   string
	lines []string
}

func (p *positions) sink(e core.Event) error {
	if e.Type == core.EventRunStart {
		p.run = e.RunID.String()
	}
	p.lines = append(p.lines, strings.Replace(e.Position, p.run, "R", 1)+" "+string(e.Type))
	return nil
}

// replayedPositions are those of a finished "parallel: a, b" whose steps were
// inferred under the fences 1 and 1.
var replayedPositions = []string{
	"R.1.0.0-0-a run_start",
	"R.1.1.0-0-b step_start",
	"R.1.1.0-0-d tool_call_start", "R.1.1.0-12-g tool_call_delta",
	"R.1.1.1-0-d tool_call_start", "R.1.1.1-12-g tool_call_delta",
	"R.1.1.0-12-h tool_call_ready", "R.1.1.1-12-h tool_call_ready",
	"R.1.1.2-0-i inference_complete",
	"R.1.1.0-0-j tool_call_done", "R.1.1.1-0-j tool_call_done",
	"R.1.1.9999-0-k step_end",
	"R.2.1.0-0-b step_start", "R.2.1.0-10-f text_delta", "R.2.1.1-0-i inference_complete", "R.2.1.9999-0-k step_end",
	"R.2.1.9999-0-m run_finish",
}

// underFence replaces the attempt of a step in positions.
func underFence(lines []string, step, attempt string) (changed []string) {
	for _, line := range lines {
		changed = append(changed, strings.Replace(line, "R."+step+".1.", "R."+step+"."+attempt+".", 1))
	}
	return changed
}

func TestPositionsOfAStreamAndOfItsReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		var live, replay positions
		receipt, err := process.Stream(t.Context(), submission("t1", "parallel: a, b"), host.ListenerFunc(live.sink))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"R.1.1.0-0-a run_start",
			"R.1.1.0-0-b step_start",
			"R.1.1.0-0-d tool_call_start", "R.1.1.0-6-g tool_call_delta", "R.1.1.0-12-g tool_call_delta",
			"R.1.1.1-0-d tool_call_start", "R.1.1.1-6-g tool_call_delta", "R.1.1.1-12-g tool_call_delta",
			"R.1.1.0-12-h tool_call_ready", "R.1.1.1-12-h tool_call_ready",
			"R.1.1.2-0-i inference_complete",
			"R.1.1.0-0-j tool_call_done", "R.1.1.1-0-j tool_call_done",
			"R.1.1.9999-0-k step_end",
			"R.2.1.0-0-b step_start", "R.2.1.0-6-f text_delta", "R.2.1.0-10-f text_delta", "R.2.1.1-0-i inference_complete", "R.2.1.9999-0-k step_end",
			"R.2.1.9999-0-m run_finish",
		}
		if diff := cmp.Diff(want, live.lines); diff != "" {
			t.Errorf("live (-want +got):\n%s", diff)
		}
		if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(replay.sink)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(replayedPositions, replay.lines); diff != "" {
			t.Errorf("replay (-want +got):\n%s", diff)
		}
	})
}

// The attempt of an event is the fence that its turn was inferred under,
// whichever claim ran the tools or committed the step.
func TestPositionsAfterATakeover(t *testing.T) {
	tests := []struct {
		name string
		dies string // the record that the first process puts or commits last
		want []string
	}{
		{"in the tool round", store.LogName(3), underFence(replayedPositions, "2", "2")},
		{"before the turn is committed", store.LogName(2), underFence(underFence(replayedPositions, "1", "2"), "2", "2")},
		{"in the second step", store.LogName(5), underFence(replayedPositions, "2", "2")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				ctx, die := context.WithCancelCause(t.Context())
				first := r.process("first", dying(r.store, tt.dies, func() { die(host.ErrStopping) }),
					func(c *host.Options) { c.Steps = 2 })
				s := submission("t1", "parallel: a, b")
				receipt, err := first.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				hint, _ := r.queue.Receive()
				if err := first.WorkLocal(ctx, hint); err == nil {
					t.Fatal("the first process did not die")
				}
				second := r.process("second", r.store, func(c *host.Options) { c.Steps = 2 })
				r.settle(second, s.Thread)
				if head := r.head(s.Thread); head.Fence != 2 {
					t.Errorf("the thread was claimed %d times, want 2", head.Fence)
				}
				var replay positions
				if err := second.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(replay.sink)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, replay.lines); diff != "" {
					t.Errorf("replay (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// dying is a process's way to a store, which ends with the write of a record:
// neither that nor any write after it is carried out.
func dying(to store.Backend, at string, die func()) store.Backend {
	var mu sync.Mutex
	dead := false
	over := func(op storetest.Operation) bool {
		mu.Lock()
		defer mu.Unlock()
		if slices.ContainsFunc(op.Records, func(r store.Record) bool { return r.Name == at }) {
			dead = true
			die()
		}
		return dead
	}
	return &storetest.Faulty{Backend: to, Around: func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if op.Writes() && over(op) {
			return errReset
		}
		return do(ctx)
	}}
}

// A stream ends with its run: what comes next on the thread is the queue's.
func TestTheNextRunIsNotSteppedUnderAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		next := submission("t1", "echo: hello")
		var got events
		queued := false
		_, err := process.Stream(t.Context(), submission("t1", "slow: 3"), host.ListenerFunc(func(e core.Event) error {
			if e.Delta == "w1" && !queued {
				queued = true
				if _, err := process.Submit(t.Context(), next); err != nil {
					t.Error(err)
				}
			}
			return got.sink(e)
		}))

		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"run_start", "step_start", "text_delta w1", "text_delta  w2", "text_delta  w3", "inference_complete", "step_end",
			`run_finish {"type":"natural_end"}`,
		}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Errorf("stream (-want +got):\n%s", diff)
		}
		if head := r.head(next.Thread); r.inferences != 1 || head.Open() || len(head.Pending) != 1 || head.Fence != 1 {
			t.Errorf("%d inferences, head %+v, want one and the next run queued", r.inferences, head)
		}
		if _, ok := r.queue.Receive(); !ok {
			t.Error("no hint was sent for the next run")
		}
	})
}

// A stream runs its steps itself, so it sends no hint that would bring a worker.
func TestAStreamSendsNoHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		if _, err := process.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
		if len(r.queue.Messages()) != 0 {
			t.Errorf("hints %+v, want none", r.queue.Messages())
		}
	})
}

// While a suspect has the process to itself, a stream's run goes to the queue,
// and the stream follows it.
func TestAStreamStartsNoRunBesideASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		suspicious(t, r, "s")
		process := r.process("w", r.store)
		suspectDone := make(chan error)
		go func() { suspectDone <- process.WorkLocal(t.Context(), wakeUps("s")[0]) }()
		time.Sleep(time.Second)
		var got events
		done := make(chan error)
		go func() {
			receipt, err := process.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(got.sink))
			if receipt.Running {
				t.Error("the run was claimed at once")
			}
			done <- err
		}()
		synctest.Wait()
		if head := r.head(core.ThreadKey{Tenant: "local", Thread: "t1"}); head.Fence != 0 || len(head.Pending) != 1 {
			t.Errorf("beside a suspect the head is %+v, want the run queued", head)
		}
		if err := <-suspectDone; err != nil {
			t.Fatal(err)
		}
		r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"run_start", "step_start", "text_delta You said: hi", "inference_complete", "step_end", `run_finish {"type":"natural_end"}`}
		if diff := cmp.Diff(want, joined(got.lines)); diff != "" {
			t.Errorf("stream (-want +got):\n%s", diff)
		}
	})
}

// Beside a suspect that has run for 10 s a new run may start, in a stream too.
func TestAStreamStartsItsRunBesideALongSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		suspicious(t, r, "s")
		process := r.process("w", r.store, func(c *host.Options) {
			c.Agents.Models["m"] = binding(pausing{20 * time.Second})
		})
		suspectDone := make(chan error)
		go func() { suspectDone <- process.WorkLocal(t.Context(), wakeUps("s")[0]) }()
		time.Sleep(10 * time.Second)
		receipt, err := process.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(func(core.Event) error { return nil }))
		if err != nil || !receipt.Running {
			t.Errorf("stream: %+v, %v, want its run claimed at once", receipt, err)
		}
		if err := <-suspectDone; err != nil {
			t.Fatal(err)
		}
	})
}

// pausing is a model that says one word after a time.
type pausing struct{ wait time.Duration }

func (m pausing) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return callThenWait(m).Stream(ctx, model.Request{Messages: []core.Message{{Role: core.RoleTool}}})
}

// A stream that got no claim has no turn either: a suspect need not wait for it.
func TestAStreamWithoutAClaimHoldsUpNoSuspect(t *testing.T) {
	tests := []struct {
		name string
		mode mailbox.Mode
	}{{"refused", mailbox.ModeReject}, {"queued", mailbox.ModeQueue}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				suspicious(t, r, "s")
				process := r.process("w", r.store)
				submitAll(t, process, "hi", "t1")
				ctx, cancel := context.WithCancel(t.Context())
				s := submission("t1", "more")
				s.Mode = tt.mode
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = process.Stream(ctx, s, host.ListenerFunc(func(core.Event) error { return nil }))
				}()
				synctest.Wait()
				began := time.Now()
				bounded, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if err := process.WorkLocal(bounded, wakeUps("s")[0]); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("the suspect was done after %s, want 2s", took)
				}
				cancel()
				<-done
			})
		})
	}
}

// A stream that only follows is no work that a suspect, its own run, would have
// to wait for.
func TestAStreamThatFollowsHoldsUpNoSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failures := 0
		process := r.process("w", &storetest.Faulty{Backend: r.store, OnCommit: func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if c.Head.Seq > 0 && failures < 3 {
				failures++
				return store.Outcome{}, context.Canceled
			}
			return r.store.Commit(ctx, key, c)
		}})
		s := submission("t1", "hi")
		var got events
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		done := make(chan error)
		go func() {
			_, err := process.Stream(ctx, s, host.ListenerFunc(got.sink))
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		r.settle(process, s.Thread)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if last := got.lines[len(got.lines)-1]; last != `run_finish {"type":"natural_end"}` {
			t.Errorf("stream %q", got.lines)
		}
	})
}

// A stream that only follows ends with its context, whatever the cause.
func TestAFollowedStreamEndsWithItsContext(t *testing.T) {
	tests := []struct {
		name  string
		cause error
	}{{"the host stops", host.ErrStopping}, {"the client goes away", errors.New("gone")}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store)
				receipt, err := process.Submit(t.Context(), submission("t1", "hi"))
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancelCause(t.Context())
				time.AfterFunc(3*time.Second, func() { stop(tt.cause) })
				var got events
				began := time.Now()
				if err := process.Follow(ctx, local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"run_start", "run_yield"}, got.lines); diff != "" || time.Since(began) != 3*time.Second {
					t.Errorf("after %s (-want +got):\n%s", time.Since(began), diff)
				}
			})
		})
	}
}
