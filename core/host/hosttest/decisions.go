package hosttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// Decisions tests the stream that a client receives after its decision.
func (o Options) Decisions(t *testing.T) {
	t.Run("one of one", o.onlyDecision)
	t.Run("one of two, of a batch", o.partialDecision)
	t.Run("both at once", o.bothDecisions)
	t.Run("again after the next wait", o.earlierDecision)
	t.Run("of a run that another stream follows", o.followedDecision)
	t.Run("whose step fails", o.failedStep)
	t.Run("with little time left", o.lateDecision)
	t.Run("of a run that ends before it is claimed", o.overtakenDecision)
	t.Run("of a round that continues before it is claimed", o.overtakenRound)
	t.Run("again, of which nothing else is known", o.forgottenDecision)
	t.Run("taken by a stream that cannot be read", o.brokenStream)
	t.Run("by run and by thread", o.plainDecisions)
	t.Run("refused", o.refusedDecisions)
	t.Run("without a listener", o.unheardDecision)
	t.Run("together with input", o.answeredInput)
}

// resume decides to resume calls.
func resume(calls ...int) (all []mailbox.Deciding) {
	for _, i := range calls {
		all = append(all, mailbox.Deciding{Target: fmt.Sprint("c", i), Decision: core.Decision{ID: fmt.Sprint("d", i), Action: core.DecisionResume}})
	}
	return all
}

// decide streams decisions and compares the events.
func (s *stage) decide(what string, decisions []mailbox.Deciding, want ...string) []mailbox.Decided {
	s.t.Helper()
	var got events
	decided, err := s.program.StreamDecisions(s.t.Context(), ann, theThread.Thread, decisions, host.ListenerFunc(got.sink))
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, inCallOrder(got.lines)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return decided
}

// inCallOrder sorts consecutive results: concurrent calls end in any order, and those
// that overtake others have no position ("-").
func inCallOrder(lines []string) []string {
	result := func(line string) bool { return strings.HasPrefix(line, "tool_call_done ") }
	sorted := slices.Clone(lines)
	for i := 0; i < len(sorted); {
		end := i
		for end < len(sorted) && result(sorted[end]) {
			sorted[end] = strings.TrimSuffix(sorted[end], " -")
			end++
		}
		slices.Sort(sorted[i:end])
		i = end + 1
	}
	return sorted
}

// rest is a run from its last results on.
func rest(results ...string) []string {
	return append(append([]string{"run_start"}, results...),
		"step_end", "step_start", "text_delta Echo: ", "text_delta a, b", "inference_complete", "step_end", "run_finish natural_end")
}

// replayed is rest when it is fed from commits.
func replayed(results ...string) []string {
	return append(append([]string{"run_start"}, results...),
		"step_end", "step_start", "text_delta Echo: a, b", "inference_complete", "step_end", "run_finish natural_end")
}

// Events from before the wait are not sent again, neither to the client that decides nor
// to its retry.
func (o Options) onlyDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	var reads atomic.Int64
	s.reading(func(name string) error {
		if strings.HasPrefix(name, "R#") {
			reads.Add(1)
		}
		return nil
	})
	decided := s.decide("at first", resume(1), rest("tool_call_done c1")...)
	s.store.Around = nil
	if n := reads.Load(); n != 2 {
		t.Errorf("the run's record is read %d times, want 2: before the claim and by the step", n)
	}
	want := []mailbox.Decided{{ThreadID: "t1", RunID: s.receipt.RunID, CallID: "c1", SuspensionID: "s1", DecisionID: "d1", Turn: 2, Index: 1}}
	if diff := cmp.Diff(want, decided); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("", s.drainHints()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
	want[0].Duplicate = true
	if diff := cmp.Diff(want, s.decide("again", resume(1), replayed("tool_call_done c1")...)); diff != "" {
		t.Errorf("receipts of the same again (-want +got):\n%s", diff)
	}
}

// A round that waits for another decision ends the stream at once.
func (o Options) partialDecision(t *testing.T) {
	s := newStage(t, o, true, "a", "b")
	s.wait(nil, 0, 1)
	s.decide("the first", resume(0), "run_start", "run_finish suspended")
	s.decide("the first again", resume(0), "run_start", "run_finish suspended")
	if hints := s.drainHints(); hints != "" {
		t.Errorf("hints %q for a run that waits", hints)
	}
	s.decide("the second", resume(1), rest("tool_call_done c0", "tool_call_done c1")...)
	s.decide("the first once more", resume(0), replayed("tool_call_done c0", "tool_call_done c1")...)
}

func (o Options) bothDecisions(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait(nil, 0, 1)
	s.decide("both", resume(0, 1), rest("tool_call_done c0", "tool_call_done c1")...)
	s.decide("both again", resume(0, 1), replayed("tool_call_done c0", "tool_call_done c1")...)
}

// A decision that comes again after the run has waited once more is shown what
// came since its own wait, and the next decision what comes after the next.
func (o Options) earlierDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b", "c")
	s.wait([]int{1}, 0, 2)
	s.decided(0)
	s.claim()
	s.wait([]int{0, 1}) // the other ticket is still open
	s.decide("the first again", resume(0), "run_start", "tool_call_done c0", "run_finish suspended")
	want := rest("tool_call_done c2")
	want[4], want[5] = "text_delta Echo: a", "text_delta , b, c"
	s.decide("the second", resume(2), want...)
	want = replayed("tool_call_done c0", "tool_call_done c2")
	want[5] = "text_delta Echo: a, b, c"
	s.decide("both again", resume(0, 2), want...)
	want = replayed("tool_call_done c2")
	want[4] = "text_delta Echo: a, b, c"
	s.decide("the second again", resume(2), want...)
}

// A decision that comes while siblings run is taken, and its stream follows.
func (o Options) followedDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b", "c")
	s.result(0)
	s.suspend([]int{0}, 1)
	got := events{seen: make(chan string, 100)}
	_, wait := s.beside(func(ctx context.Context) error {
		_, err := s.program.StreamDecisions(ctx, ann, theThread.Thread, resume(1), host.ListenerFunc(got.sink))
		return err
	})
	<-got.seen // run_start
	s.wait([]int{1}, 2)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	want := []string{"run_start", "tool_call_done c1", "tool_call_suspended c2 s2 -", "run_finish suspended"}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if hints := s.drainHints(); hints != "" {
		t.Errorf("hints %q for a run that is held", hints)
	}
}

// A refused decision gets no event; decisions that were accepted before it still apply.
func (o Options) refusedDecisions(t *testing.T) {
	tests := []struct {
		name      string
		id        core.Identity
		decisions []mailbox.Deciding
		code      core.Code
		taken     int
		hints     string
	}{
		{"none", ann, nil, core.CodeInvalid, 0, ""},
		{"another's thread", core.Identity{Tenant: "acme", User: "bob"}, resume(0), core.CodeNotFound, 0, ""},
		{"an unknown call", ann, resume(7), core.CodeNotFound, 0, ""},
		{"the second", ann, resume(0, 7), core.CodeNotFound, 1, "t1 0s"},
		{"of two runs", ann, []mailbox.Deciding{resume(0)[0], {Run: core.ID{9}, Target: "c1", Decision: core.Decision{Action: core.DecisionResume}}}, core.CodeInvalid, 1, "t1 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, o, false, "a", "b")
			s.wait(nil, 0, 1)
			var got events
			decided, err := s.program.StreamDecisions(t.Context(), tt.id, theThread.Thread, tt.decisions, host.ListenerFunc(got.sink))
			if core.CodeOf(err) != tt.code || len(decided) != tt.taken || got.lines != nil {
				t.Errorf("%d taken, %v, events %q; want %d and code %s", len(decided), err, got.lines, tt.taken, tt.code)
			}
			if diff := cmp.Diff(tt.hints, s.drainHints()); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
		})
	}
}

// A client that goes away does not hold up the run that it let go on.
func (o Options) unheardDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	calls := 0
	_, err := s.program.StreamDecisions(t.Context(), ann, theThread.Thread, resume(1), host.ListenerFunc(func(core.Event) error {
		calls++
		return fmt.Errorf("gone")
	}))

	run, failed := s.program.ReadRun(t.Context(), ann, s.receipt.RunID)
	if err != nil || failed != nil || calls != 1 || run.Status != core.RunDone {
		t.Errorf("%v, %v after %d events; the run is %s, want done", err, failed, calls, run.Status)
	}
}

// The events of the round that a failed step has sent are stored: when another worker
// has taken the step again, the stream continues after them, and nothing is void.
func (o Options) failedStep(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	failures := s.failClose()
	got := events{seen: make(chan string, 100)}
	ctx, wait := s.beside(func(ctx context.Context) error {
		_, err := s.program.StreamDecisions(ctx, ann, theThread.Thread, resume(1), host.ListenerFunc(got.sink))
		return err
	})
	for line := range got.seen {
		if line == "tool_call_done c1" {
			break
		}
	}
	s.finish(ctx)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(replayed("tool_call_done c1"), inOnePiece(got.lines)); diff != "" || *failures != 1 {
		t.Errorf("%d failures; events (-want +got):\n%s", *failures, diff)
	}
}

// With little time left the run goes to the queue immediately.
func (o Options) lateDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	ctx, cancel := env.System().WithTimeout(t.Context(), time.Second)
	defer cancel()
	var got events
	if _, err := s.program.StreamDecisions(ctx, ann, theThread.Thread, resume(1), host.ListenerFunc(got.sink)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"run_start", "run_yield -"}, got.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("t1 0s", s.drainHints()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

// The claim finds another run open: it is released, and the stream shows the end of its
// own run.
func (o Options) overtakenDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	s.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if c.Head.Claim.Fence == 0 { // the decision
			return s.store.Backend.Commit(ctx, key, c)
		}
		s.store.OnCommit = nil
		if _, err := s.box.Cancel(t.Context(), theThread, s.receipt.RunID); err != nil {
			t.Error(err)
		}
		s.claim()
		s.result(1)
		s.commit(thread.CommitClose{Fence: s.head.Claim.Fence, From: 2, Seq: 4}, s.record(recordname.Run(s.receipt.RunID), thread.RunRecord{Run: core.Run{
			ID: s.receipt.RunID, ThreadID: theThread.Thread, AgentID: "demo", Status: core.RunDone, FirstSeq: 1,
			Termination: &core.Termination{Type: core.TerminationCancelled},
		}}))
		s.submit("next")
		s.drainHints()
		return s.store.Backend.Commit(ctx, key, c)
	}
	s.decide("a run that was cancelled", resume(1), "run_start", "tool_call_done c1", "step_end", "run_finish cancelled")
	head, err := s.box.Head(t.Context(), theThread)
	if err != nil || !head.Ready() || head.Run.ID == s.receipt.RunID || head.Run.Attempts != 0 {
		t.Errorf("run %s, ready %v, %d attempts, %v; want the next one, untried", head.Run.ID, head.Ready(), head.Run.Attempts, err)
	}
	if diff := cmp.Diff("t1 0s", s.drainHints()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

// Before the claim another worker continues the round and waits again, and the decision on
// that wait arrives, too. The stream first shows the new events of the round, before those
// of its own step: also if that step fails, and the round is repeated from commits.
func (o Options) overtakenRound(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail bool
		want []string
	}{
		{"its step succeeds", false, rest("tool_call_done c0", "tool_call_done c1")},
		{"its step fails", true, replayed("tool_call_done c0", "tool_call_done c1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, o, false, "a", "b")
			s.wait(nil, 0)
			s.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if c.Head.Claim.Fence == 0 { // the decision
					return s.store.Backend.Commit(ctx, key, c)
				}
				s.store.OnCommit = nil
				s.claim()
				s.wait([]int{0}, 1)
				s.decided(1)
				if tt.fail {
					s.failClose()
				}
				return s.store.Backend.Commit(ctx, key, c)
			}
			got := events{seen: make(chan string, 100)}
			ctx, wait := s.beside(func(ctx context.Context) error {
				_, err := s.program.StreamDecisions(ctx, ann, theThread.Thread, resume(0), host.ListenerFunc(got.sink))
				return err
			})
			for line := range got.seen {
				if strings.HasPrefix(line, "tool_call_done c1") {
					break
				}
			}
			s.finish(ctx)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inOnePiece(tt.want), inOnePiece(got.lines)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A decision that is repeated while the list of decisions lags is only known to be
// accepted: its stream shows the run from the start before it continues.
func (o Options) forgottenDecision(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait(nil, 0)
	s.decided(0)
	s.claim()
	s.wait([]int{0}, 1)
	s.decided(1)
	s.store.OnRecords = func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
		if strings.HasPrefix(prefix, "D#") {
			return nil, nil
		}
		return s.store.Backend.Records(ctx, key, prefix, after, limit)
	}
	want := rest("step_start",
		"tool_call_start c0", "tool_call_delta c0", "tool_call_start c1", "tool_call_delta c1", "tool_call_ready c0", "tool_call_ready c1", "inference_complete",
		"tool_call_done c0", "tool_call_done c1")
	decided := s.decide("again", resume(0), want...)
	if diff := cmp.Diff([]mailbox.Decided{{ThreadID: "t1", RunID: s.receipt.RunID, CallID: "c0", DecisionID: "d0", Duplicate: true}}, decided); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
}

// The decision remains valid if its stream fails before the first event: the run goes to
// the queue immediately.
func (o Options) brokenStream(t *testing.T) {
	broken := core.Errorf(core.CodeUnavailable, "no response")
	for _, tt := range []struct {
		prefix    string
		duplicate bool
	}{{"R#", false}, {"M#000000000002", false}, {"M#000000000002", true}, {"C#", true}} {
		t.Run(fmt.Sprint(tt.prefix, " of a duplicate: ", tt.duplicate), func(t *testing.T) {
			s := newStage(t, o, false, "a", "b")
			s.wait([]int{0}, 1)
			decision := resume(1)[0]
			decision.Target, decision.User = "s1", ann.User
			if tt.duplicate {
				if _, err := s.box.Decide(t.Context(), theThread, decision); err != nil {
					t.Fatal(err)
				}
				s.drainHints()
			}
			reads := 0
			s.reading(func(name string) error {
				if !strings.HasPrefix(name, tt.prefix) {
					return nil
				}
				if reads++; tt.prefix == "C#" && reads == 1 {
					return nil // the ticket, which the decision itself needs
				}
				return broken
			})
			var got events
			decided, err := s.program.StreamDecisions(t.Context(), ann, theThread.Thread, []mailbox.Deciding{decision}, host.ListenerFunc(got.sink))
			if !errors.Is(err, broken) || len(decided) != 1 || got.lines != nil {
				t.Errorf("%d taken, %v, events %q; want the failure", len(decided), err, got.lines)
			}
			if diff := cmp.Diff("t1 0s", s.drainHints()); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
		})
	}
}

func (o Options) plainDecisions(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	bob, other := core.Identity{Tenant: "acme", User: "bob"}, core.Identity{Tenant: "other", User: "ann"}
	for _, who := range []core.Identity{bob, other} {
		for name, decide := range s.ways() {
			if got, err := decide(who, resume(1)[0]); core.CodeOf(err) != core.CodeNotFound || got != (mailbox.Decided{}) {
				t.Errorf("by %s, as %v: %+v, %v; want code not_found", name, who, got, err)
			}
		}
	}
	if _, err := s.program.Decide(t.Context(), ann, core.ID{9}, resume(1)[0]); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an unknown run: %v, want code not_found", err)
	}
	if _, err := s.program.DecideThread(t.Context(), ann, "a#b", resume(1)[0]); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("no thread's name: %v, want code invalid", err)
	}
	huge := resume(1)[0]
	huge.Decision.Reason = strings.Repeat("x", tool.MaxArguments+1)
	for name, decide := range s.ways() {
		if _, err := decide(ann, huge); core.CodeOf(err) != core.CodeTooLarge {
			t.Errorf("too much, by %s: %v, want code too_large", name, err)
		}
	}
	want := mailbox.Decided{ThreadID: "t1", RunID: s.receipt.RunID, CallID: "c1", SuspensionID: "s1", DecisionID: "d1", Turn: 2, Index: 1}
	got, err := s.program.Decide(t.Context(), ann, s.receipt.RunID, resume(1)[0])
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("by run: %v (-want +got):\n%s", err, diff)
	}
	want.Duplicate = true
	got, err = s.program.DecideThread(t.Context(), ann, theThread.Thread, resume(1)[0])
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("by thread: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff("t1 0s, t1 0s", s.drainHints()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

// ways are those to decide without a stream.
func (s *stage) ways() map[string]func(core.Identity, mailbox.Deciding) (mailbox.Decided, error) {
	return map[string]func(core.Identity, mailbox.Deciding) (mailbox.Decided, error){
		"run": func(id core.Identity, d mailbox.Deciding) (mailbox.Decided, error) {
			return s.program.Decide(s.t.Context(), id, s.receipt.RunID, d)
		},
		"thread": func(id core.Identity, d mailbox.Deciding) (mailbox.Decided, error) {
			return s.program.DecideThread(s.t.Context(), id, theThread.Thread, d)
		},
	}
}
