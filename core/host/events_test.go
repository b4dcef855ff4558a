package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/tool"
)

func TestEventsAreYieldedInOrder(t *testing.T) {
	tests := []struct {
		name, agent, text string
		want              []string
	}{
		{"a tool", "demo", "echo: hi", []string{
			"run_start", "step_start", "tool_call_start", "tool_call_delta", "tool_call_delta", "tool_call_ready", "inference_complete",
			"state_delta", "tool_call_done", "state_snapshot", "step_end", "step_start", "text_delta", "text_delta", "inference_complete", "step_end", "run_finish natural_end",
		}},
		{"a wait", "demo", "approve: it", []string{
			"run_start", "step_start", "tool_call_start", "tool_call_delta", "tool_call_delta", "tool_call_ready", "inference_complete",
			"state_delta", "tool_call_suspended", "run_finish suspended",
		}},
		{"no text", "demo", "", []string{`error: the text for agent "demo" is empty`}},
		{"no such agent", "other", "hi", []string{`error: agent "other" not found, known are: demo`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []string
				for e, err := range newSolo(t, soloParts()).Events(t.Context(), test.agent, test.text) {
					switch {
					case err != nil:
						got = append(got, "error: "+err.Error())
					case e.Termination != nil:
						got = append(got, fmt.Sprint(e.Type, " ", e.Termination.Type))
					default:
						got = append(got, string(e.Type))
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestEventsOfARunThatFailedEndWithoutAnError(t *testing.T) {
	var last core.Event
	for e, err := range newSolo(t, soloParts()).Events(t.Context(), "demo", "fail") {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	want := &core.Termination{Type: "error", Code: "model", Detail: "scripted model failure"}
	if diff := cmp.Diff(want, last.Termination); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBreakingOutOfTheEventsEndsTheRun: at once, with nothing left behind: the test's
// bubble would not end otherwise.
func TestBreakingOutOfTheEventsEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		start := time.Now()
		var run core.ID
		for e, err := range r.EventsOf(t.Context(), submission("t1", "slow: 50")) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == core.EventRunStart {
				run = e.RunID
			}
			if e.Type == core.EventTextDelta {
				break
			}
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("the loop took %s", took)
		}
		record, err := r.ReadRun(t.Context(), local, run)
		if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationCancelled {
			t.Errorf("the run is %s, %+v, %v", record.Status, record.Termination, err)
		}
		next, err := r.Play(t.Context(), submission("t1", "hello"), nil, nil)
		if err != nil || next.Text != "You said: hello" {
			t.Errorf("%q, %v", next.Text, err)
		}
	})
}

func TestPanicOfTheLoopsBodyIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v", v)
			}
		}()
		for range newSolo(t, soloParts()).Events(t.Context(), "demo", "hello") {
			panic("boom")
		}
	})
}

// TestALoopIsNotWaitedFor: its body waits, with the first event, for the tool that runs
// in the run's first step.
func TestALoopIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts, called := soloParts(), make(chan struct{})
		parts.Tools[0] = tool.New(tool.Spec{Name: "echo"}, func(context.Context, tool.Call, soloText) (string, error) {
			close(called)
			return "", nil
		})
		for _, err := range newSolo(t, parts).Events(t.Context(), "demo", "echo: hi") {
			if err != nil {
				t.Fatal(err)
			}
			<-called
		}
	})
}

func TestEventsEndWithTheContextsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for e, err := range newSolo(t, soloParts()).Events(ctx, "demo", "slow: 50") {
			if e.Type == core.EventTextDelta {
				cancel(enough)
			}
			last = err
		}
		if !errors.Is(last, enough) {
			t.Errorf("the last error is %v, want %v", last, enough)
		}
	})
}

// TestARunOfABuiltRuntimeOutlivesItsCall: a worker goes on with it.
func TestARunOfABuiltRuntimeOutlivesItsCall(t *testing.T) {
	tests := []struct {
		name  string
		leave func(ctx context.Context, r *host.Host) (run core.ID, said string)
		want  string // after the run's id
	}{
		{"Run", func(ctx context.Context, r *host.Host) (core.ID, string) {
			result, err := r.Play(ctx, submission("t1", "slow: 50"), nil, nil)
			return result.Run.ID, fmt.Sprint(err)
		}, " continues in the queue: context deadline exceeded"},
		{"Events", func(ctx context.Context, r *host.Host) (run core.ID, said string) {
			for e := range r.EventsOf(ctx, submission("t1", "slow: 50")) {
				if e.Type == core.EventRunStart {
					run = e.RunID
				}
				if e.Type == core.EventTextDelta {
					break
				}
			}
			return run, "run " + run.String()
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRig(t)
				r := w.process("one", w.store, func(c *host.Options) { c.Reserve = time.Millisecond })
				ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
				defer cancel()
				run, said := test.leave(ctx, r)
				if want := "run " + run.String() + test.want; said != want {
					t.Errorf("%s, want %s", said, want)
				}
				w.settle(r, submission("t1", "").Thread)
				record, err := r.ReadRun(t.Context(), local, run)
				if err != nil || record.Status != core.RunDone || record.Termination.Type != core.TerminationNatural {
					t.Errorf("the run is %s, %+v, %v", record.Status, record.Termination, err)
				}
			})
		})
	}
}

func TestRunOfABuiltRuntimeFollowsWhatItsWorkersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t)
		r := w.process("one", w.store)
		first := submission("t1", "slow: 20")
		if _, err := r.Submit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			result, err := r.Play(t.Context(), submission("t1", "echo: hi"), nil, nil) // the thread is busy
			if err != nil || result.Text != "Echo: hi" || result.Run.Steps != 2 {
				t.Errorf("%q in %d steps, %v", result.Text, result.Run.Steps, err)
			}
		}()
		synctest.Wait()
		w.settle(r, first.Thread)
		<-done
	})
}
