package host_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// callThenWait is a model that calls a tool, and then says nothing for a time
// before its last word.
type callThenWait struct{ wait time.Duration }

func (m callThenWait) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	if request.Messages[len(request.Messages)-1].Role == core.RoleUser {
		return endless{new(int)}.Stream(ctx, request)
	}
	return func(yield func(model.Delta, error) bool) {
		select {
		case <-time.After(m.wait):
			_ = yield(model.Delta{Type: model.DeltaText, Text: "done"}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
		case <-ctx.Done():
			yield(model.Delta{}, ctx.Err())
		}
	}
}

func submitAll(t *testing.T, process *host.Host, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := process.Submit(t.Context(), submission(name, text)); err != nil {
			t.Fatal(err)
		}
	}
}

// A batch of one hint is that hint's work, without a look before it; one of two
// looks at both heads.
func TestOperationsOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		submitAll(t, r.process("sender", r.store), "hi", "t1", "t2", "t3")
		way := newWay(r.store)
		process := r.process("w", way)
		if err := process.WorkBatch(t.Context(), wakeUps("t1"))[0]; err != nil {
			t.Fatal(err)
		}
		wantCounts(t, "one hint", way, counts{"head": 1, "get": 1, "commit": 2, "putsnapshot": 1})
		for _, err := range process.WorkBatch(t.Context(), wakeUps("t2", "t3")) {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantCounts(t, "two hints", way, counts{"head": 2, "get": 2, "commit": 4})
		if err := process.WorkBatch(t.Context(), nil); len(err) != 0 {
			t.Errorf("no hints: %v", err)
		}
		wantCounts(t, "no hints", way, nil)
	})
}

// Where the suspect stands in its batch makes no difference; one that another
// process works on right now puts nobody off.
func TestSuspectsOfABatch(t *testing.T) {
	tests := []struct {
		name   string
		batch  []string
		held   bool // another process has the suspect
		fences map[string]uint64
	}{
		{"first", []string{"s", "a", "b"}, false, map[string]uint64{"s": 3, "a": 0, "b": 0}},
		{"last", []string{"a", "b", "s"}, false, map[string]uint64{"s": 3, "a": 0, "b": 0}},
		{"held", []string{"a", "s", "b"}, true, map[string]uint64{"s": 3, "a": 1, "b": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				suspicious(t, r, "s")
				process := r.process("w", r.store)
				submitAll(t, process, "hi", "a", "b")
				var wait sync.WaitGroup
				if tt.held {
					other := r.process("other", r.store)
					wait.Go(func() {
						if err := other.WorkLocal(t.Context(), wakeUps("s")[0]); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				for _, err := range process.WorkBatch(t.Context(), wakeUps(tt.batch...)) {
					if err != nil {
						t.Error(err)
					}
				}
				wait.Wait()
				got := map[string]uint64{}
				for name := range tt.fences {
					got[name] = r.head(core.ThreadKey{Tenant: "local", Thread: name}).Fence
				}
				if diff := cmp.Diff(tt.fences, got); diff != "" {
					t.Errorf("claims (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What a run's claim shows decides whether others may start beside it.
func TestWhoMayStartBesideARun(t *testing.T) {
	tests := []struct {
		name  string
		kills int // of the first run before
		other time.Duration
	}{
		{"a healthy run, at once", 0, 3 * time.Second},
		{"one that lost a claim, at once", 1, 3 * time.Second},
		{"a suspect, after its first step", 2, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, func(c *host.Options) {
					c.Agents.Models["m"] = binding(callThenWait{3 * time.Second})
					c.Steps = 2
				})
				submitAll(t, process, "hi", "first", "other")
				for range tt.kills {
					killed(t, r, core.ThreadKey{Tenant: "local", Thread: "first"})
				}
				began := time.Now()
				var wait sync.WaitGroup
				wait.Go(func() {
					if err := process.WorkLocal(t.Context(), wakeUps("first")[0]); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				wait.Go(func() {
					if err := process.WorkLocal(t.Context(), wakeUps("other")[0]); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); took != tt.other {
						t.Errorf("the other run was done after %s, want %s", took, tt.other)
					}
				})
				wait.Wait()
			})
		})
	}
}

// A healthy run frees the process when it is claimed, long before its first
// step is over.
func TestAHealthyRunFreesTheProcessWhenItIsClaimed(t *testing.T) {
	for _, kills := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			process := r.process("w", r.store)
			submitAll(t, process, "slow: 30", "first", "other")
			for range kills {
				killed(t, r, core.ThreadKey{Tenant: "local", Thread: "first"})
			}
			began := time.Now()
			var wait sync.WaitGroup
			for _, hint := range wakeUps("first", "other") {
				wait.Go(func() {
					if err := process.WorkLocal(t.Context(), hint); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			wait.Wait()
			if took := time.Since(began); took != 3*time.Second {
				t.Errorf("after %d lost claims both were done after %s, want 3s", kills, took)
			}
		})
	}
}

// Another step begins only while more than the reserve of 20 s is left.
func TestStepsOfADelivery(t *testing.T) {
	tests := []struct {
		name  string
		left  time.Duration // 0: no deadline
		steps int
		hints int // that the run needs
	}{
		{"no deadline", 0, 3, 1},
		{"time enough", 21 * time.Second, 3, 1},
		{"the reserve", 20 * time.Second, 3, 2},
		{"one step allowed", 0, 1, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, func(c *host.Options) { c.Steps = tt.steps })
				submitAll(t, process, "echo: hello", "t1")
				hints := 0
				for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
					hints++
					ctx, cancel := context.WithCancel(t.Context())
					if tt.left > 0 {
						ctx, cancel = context.WithTimeout(t.Context(), tt.left)
					}
					if err := process.WorkLocal(ctx, hint); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				if hints != tt.hints {
					t.Errorf("%d hints were needed, want %d", hints, tt.hints)
				}
				if diff := cmp.Diff(echoTranscript, transcript(t, process, "t1")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A run ends with the error timeout when a whole invocation brought nothing. A
// second step that did not have one is tried again.
func TestAStepThatIsLongerThanAnInvocation(t *testing.T) {
	tests := []struct {
		name        string
		steps       int
		invocations int
	}{
		{"one step an invocation", 1, 2},
		{"two steps an invocation", 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, func(c *host.Options) {
					c.Agents.Models["m"] = binding(callThenWait{time.Hour})
					c.Steps = tt.steps
				})
				receipt, err := process.Submit(t.Context(), submission("t1", "hi"))
				if err != nil {
					t.Fatal(err)
				}
				for n := range tt.invocations {
					if head := r.head(core.ThreadKey{Tenant: "local", Thread: "t1"}); n > 0 && (!head.Open() || head.Run.Step != 1) {
						t.Errorf("after %d invocations the head is %+v", n, head)
					}
					hint, ok := r.queue.Receive()
					if !ok {
						t.Fatal("no hint is due")
					}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					if err := process.WorkLocal(ctx, hint); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				record, err := process.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || record.Status != core.RunDone || record.Termination.Code != "timeout" {
					t.Errorf("run %+v, %+v, %v", record, record.Termination, err)
				}
			})
		})
	}
}

// What is refused is an error before the first event, and leaves no run behind.
func TestRefusedStreams(t *testing.T) {
	unknown := submission("t2", "hi")
	unknown.Opening.AgentID = "nobody"
	nameless := submission("t2", "hi")
	nameless.Opening.AgentID = ""
	rejected := submission("t1", "hi")
	rejected.Mode = mailbox.ModeReject
	tests := []struct {
		name string
		s    mailbox.Submission
		want core.Code
	}{
		{"unknown agent", unknown, core.CodeNotFound},
		{"no agent", nameless, core.CodeInvalid},
		{"busy thread", rejected, core.CodeBusy},
	}
	r := newRig(t)
	process := r.process("w", r.store)
	submitAll(t, process, "hi", "t1")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got events
			receipt, err := process.Stream(t.Context(), tt.s, host.ListenerFunc(got.sink))
			if core.CodeOf(err) != tt.want || !receipt.RunID.IsZero() || len(got.lines) != 0 {
				t.Errorf("stream: %+v, %v and the events %v, want code %s", receipt, err, got.lines, tt.want)
			}
			if _, err := process.Submit(t.Context(), tt.s); core.CodeOf(err) != tt.want {
				t.Errorf("submit: %v, want code %s", err, tt.want)
			}
		})
	}
	if head := r.head(unknown.Thread); head.Exists() {
		t.Errorf("a refused submission left the head %+v", head)
	}
}
