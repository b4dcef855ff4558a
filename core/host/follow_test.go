package host_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// replayed is the stream of a finished "parallel: a, b": the live one but for
// how text and arguments are cut.
var replayed = []string{
	"run_start",
	"step_start",
	"tool_call_start echo", `tool_call_delta {"text":"a"}`,
	"tool_call_start echo", `tool_call_delta {"text":"b"}`,
	`tool_call_ready echo {"text":"a"}`, `tool_call_ready echo {"text":"b"}`,
	"inference_complete",
	`tool_call_done echo {"text":"a"}`, `tool_call_done echo {"text":"b"}`,
	"step_end",
	"step_start", "text_delta Echo: a, b", "inference_complete", "step_end",
	`run_finish {"type":"natural_end"}`,
}

var liveLines = []string{
	"run_start",
	"step_start",
	"tool_call_start echo", `tool_call_delta {"text`, `tool_call_delta ":"a"}`,
	"tool_call_start echo", `tool_call_delta {"text`, `tool_call_delta ":"b"}`,
	`tool_call_ready echo {"text":"a"}`, `tool_call_ready echo {"text":"b"}`,
	"inference_complete",
	`tool_call_done echo {"text":"a"}`, `tool_call_done echo {"text":"b"}`,
	"step_end",
	"step_start", "text_delta Echo: ", "text_delta a, b", "inference_complete", "step_end",
	`run_finish {"type":"natural_end"}`,
}

func TestStreamAndItsReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "parallel: a, b")
		s.Key.Value = "k"
		var first, again, followed events
		receipt, err := process.Stream(t.Context(), s, host.ListenerFunc(first.sink))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(liveLines, first.lines); diff != "" {
			t.Errorf("live (-want +got):\n%s", diff)
		}
		repeated, err := process.Stream(t.Context(), s, host.ListenerFunc(again.sink))
		if err != nil || repeated.RunID != receipt.RunID || !repeated.Duplicate {
			t.Errorf("the same key gives %+v, %v", repeated, err)
		}
		if diff := cmp.Diff(replayed, again.lines); diff != "" {
			t.Errorf("the same key (-want +got):\n%s", diff)
		}
		if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(followed.sink)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(replayed, followed.lines); diff != "" {
			t.Errorf("follow (-want +got):\n%s", diff)
		}
		if err := process.Follow(t.Context(), core.Identity{Tenant: "other"}, receipt.RunID, host.ListenerFunc(followed.sink)); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("another tenant: %v, want code not_found", err)
		}
		if diff := cmp.Diff(parallelTranscript, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
	})
}

// A stream behind other work begins at once, so that its client knows the run
// and that it is accepted; the rest comes from the commits of whoever runs it.
func TestFollowOfAQueuedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		if _, err := process.Submit(t.Context(), submission("t1", "slow: 20")); err != nil {
			t.Fatal(err)
		}
		var got events
		done := make(chan error)
		go func() {
			_, err := process.Stream(t.Context(), submission("t1", "parallel: a, b"), host.ListenerFunc(func(e core.Event) error {
				if e.Type == core.EventRunStart && (e.AgentID != "demo" || e.ThreadID != "t1") {
					t.Errorf("the stream begins with %+v", e)
				}
				return got.sink(e)
			}))

			done <- err
		}()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		if diff := cmp.Diff([]string{"run_start"}, got.lines); diff != "" {
			t.Errorf("while queued (-want +got):\n%s", diff)
		}
		r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(replayed, joined(got.lines)); diff != "" {
			t.Error(diff)
		}
	})
}

// follows lets a reader follow a run: it returns what the reader has of it, and how the
// stream ends.
func (r *rig) follows(process *host.Host, run core.ID) (*events, <-chan error) {
	r.t.Helper()
	got, done := new(events), make(chan error)
	go func() { done <- process.Follow(r.t.Context(), local, run, host.ListenerFunc(got.sink)) }()
	return got, done
}

// joined puts the pieces together that one text, or the arguments of one call, came in.
func joined(lines []string) []string {
	var all []string
	for _, line := range lines {
		kind, piece, _ := strings.Cut(line, " ")
		if n := len(all); n > 0 && strings.HasSuffix(kind, "_delta") && strings.HasPrefix(all[n-1], kind+" ") {
			all[n-1] += piece
			continue
		}
		all = append(all, line)
	}
	return all
}

func TestStreamWithoutAReaderRunsOn(t *testing.T) {
	tests := []struct {
		name  string
		leave func(cancel context.CancelFunc) error
		calls int // of the sink
	}{
		{"the sink fails", func(context.CancelFunc) error { return errors.New("gone") }, 4},
		{"the context is cancelled", func(cancel context.CancelFunc) error { cancel(); return nil }, 20},
		{"the sink panics", func(context.CancelFunc) error { panic("boom") }, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				calls := 0
				_, err := process.Stream(ctx, submission("t1", "parallel: a, b"), host.ListenerFunc(func(core.Event) error {
					if calls++; calls == 4 {
						return tt.leave(cancel)
					}
					return nil
				}))

				if err != nil {
					t.Fatal(err)
				}
				if calls != tt.calls {
					t.Errorf("the sink was called %d times, want %d", calls, tt.calls)
				}
				if diff := cmp.Diff(parallelTranscript, transcript(t, process, "t1")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A step of a stream that fails is shown again from its beginning, by whoever
// takes it; what was committed before is not repeated.
func TestStreamGoesOnAfterAFailedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		commits := 0
		broken := &storetest.Faulty{Backend: r.store, OnCommit: func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if slices.ContainsFunc(c.Records, func(r store.Record) bool { return r.Name == store.LogName(5) }) {
				if commits++; commits == 1 {
					return store.Outcome{}, core.Errorf(core.CodeInvalid, "no") // the second step fails at its turn
				}
			}
			return r.store.Commit(ctx, key, c)
		}}
		process := r.process("w", broken)
		var got events
		done := make(chan error)
		go func() {
			_, err := process.Stream(t.Context(), submission("t1", "parallel: a, b"), host.ListenerFunc(got.sink))
			done <- err
		}()
		synctest.Wait()
		r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := append(append([]string{}, liveLines[:18]...),
			"step_restarted", "step_start", "text_delta Echo: a, b", "inference_complete", "step_end",
			`run_finish {"type":"natural_end"}`)
		if diff := cmp.Diff(joined(want), joined(got.lines)); diff != "" {
			t.Error(diff)
		}
	})
}

// With little time left, a stream leaves its run to the queue.
func TestStreamYieldsWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) { c.Reserve = time.Minute })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var got events
		if _, err := process.Stream(ctx, submission("t1", "parallel: a, b"), host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(append([]string{}, liveLines[:14]...), "run_yield"), got.lines); diff != "" {
			t.Error(diff)
		}
		r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if diff := cmp.Diff(parallelTranscript, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
	})
}

// A stream whose deadline passes in the middle of a turn ends with run_yield,
// and its run goes on elsewhere.
func TestStreamYieldsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		s := submission("t1", "slow: 400")
		var got events
		if _, err := process.Stream(ctx, s, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		last := got.lines[len(got.lines)-2:]
		if diff := cmp.Diff([]string{"step_restarted", "run_yield"}, last); diff != "" {
			t.Error(diff)
		}
		r.settle(process, s.Thread)
		if got := transcript(t, process, "t1"); len(got) != 2 {
			t.Errorf("transcript %v", got)
		}
	})
}

// A host that stops gives the run of a stream back, for its next start.
func TestStreamYieldsWhenItsHostStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		ctx, stop := context.WithCancelCause(t.Context())
		s := submission("t1", "slow: 3")
		var got events
		_, err := process.Stream(ctx, s, host.ListenerFunc(func(e core.Event) error {
			if e.Delta == "w1" {
				stop(host.ErrStopping)
			}
			return got.sink(e)
		}))

		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"run_start", "step_start", "text_delta w1", "step_restarted", "run_yield"}, got.lines); diff != "" {
			t.Error(diff)
		}
		r.settle(process, s.Thread)
		if diff := cmp.Diff([]string{"user: slow: 3", "assistant: w1 w2 w3"}, transcript(t, process, "t1")); diff != "" {
			t.Error(diff)
		}
	})
}

// The client of a stream has left, which ends nothing. Its host, which knows of the
// stream, stops later.
func TestAStreamWithoutAReaderEndsWithItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		requests, stop := context.WithCancelCause(t.Context())
		ctx, leave := context.WithCancel(host.ForHost(requests))
		s, began := submission("t1", "slow: 20"), time.Now()
		time.AfterFunc(500*time.Millisecond, func() { stop(host.ErrStopping) })
		_, err := process.Stream(ctx, s, host.ListenerFunc(func(core.Event) error {
			leave()
			return errors.New("broken pipe")
		}))
		if err != nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("the stream ended after %s with %v, want none when the host stopped", time.Since(began), err)
		}
		head, err := r.store.Head(t.Context(), s.Thread)
		if err != nil || head.Claim.Fence != 0 || head.Run.Attempts != 0 {
			t.Errorf("a claim of fence %d and %d attempts are left, %v", head.Claim.Fence, head.Run.Attempts, err)
		}
		leave()
	})
}

// A cancelled run is shown with what its model had said.
func TestFollowOfACancelledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		s := submission("t1", "slow: 600")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		got, done := r.follows(process, receipt.RunID)
		go func() {
			time.Sleep(5 * time.Second)
			if err := process.CancelRun(t.Context(), local, receipt.RunID); err != nil {
				t.Error(err)
			}
		}()
		r.settle(process, s.Thread)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, line := range got.lines { // what the model said until the worker looked
			if strings.HasPrefix(line, "text_delta ") {
				n++
			}
		}
		if n < 40 { // this very process works on the run
			t.Errorf("%d pieces are shown, want each word", n)
		}
		got.lines = slices.DeleteFunc(got.lines, func(line string) bool {
			return strings.HasPrefix(line, "text_delta ") && line != "text_delta w1"
		})
		want := []string{"run_start", "step_start", "text_delta w1", "inference_complete", "step_end", `run_finish {"type":"cancelled"}`}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Error(diff)
		}
	})
}

// What cannot be read in the middle of a run is not left out: the stream ends before
// it, and goes on from there when its client is back.
func TestAReplayThatCannotBeReadYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		writer := r.process("w", r.store)
		receipt, err := writer.Submit(t.Context(), submission("t1", "parallel: a, b"))
		if err != nil {
			t.Fatal(err)
		}
		r.settle(writer, core.ThreadKey{Tenant: "local", Thread: "t1"})
		failing := &storetest.Faulty{Backend: r.store}
		failing.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				for record, err := range r.store.Log(ctx, key, from, to) {
					if seq, _ := record.LogSeq(); seq == 3 {
						record, err = store.Record{}, store.ErrThrottled
					}
					if !yield(record, err) || err != nil {
						return
					}
				}
			}
		}
		process := r.process("r", failing)
		for range 2 {
			var got events
			if err := process.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
				t.Fatal(err)
			}
			shown := len(got.lines) - 1
			if diff := cmp.Diff(append(replayed[:shown:shown], "run_yield"), got.lines); diff != "" || shown < 2 || shown >= len(replayed)-1 {
				t.Errorf("%d events were shown (-want +got):\n%s", shown, diff)
			}
		}
	})
}

// A run that is over is shown at once, whatever the next one of its thread does.
func TestARunThatIsOverIsFollowedToItsEndAtOnce(t *testing.T) {
	for _, next := range []thread.Status{thread.Running, thread.Waiting, thread.Closing} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			writer := r.process("w", r.store)
			receipt, err := writer.Submit(t.Context(), submission("t1", "parallel: a, b"))
			if err != nil {
				t.Fatal(err)
			}
			r.settle(writer, core.ThreadKey{Tenant: "local", Thread: "t1"})
			process := r.process("r", &storetest.Faulty{Backend: r.store, OnHead: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
				head, err := r.store.Head(ctx, key)
				head.Run = thread.Run{ID: core.ID{7}, Dispatch: core.ID{7}, Status: next}
				return head, err
			}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			var got events
			if err := process.Follow(ctx, local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(replayed, got.lines); diff != "" || time.Since(began) != 0 {
				t.Errorf("while the next one is %s, after %s (-want +got):\n%s", next, time.Since(began), diff)
			}
		})
	}
}
