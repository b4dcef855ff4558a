package hosttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// VisibleEarly tests the parts of a thread that are visible before its log has them: the
// results of an open round, its tickets, and input that no step has read.
func (o Options) VisibleEarly(t *testing.T) {
	t.Run("pages", o.pages)
	t.Run("input of a run that has not started", o.unbegun)
	t.Run("input that was steered to a closing run", o.closingInput)
	t.Run("input that is lost", o.lostInput)
	t.Run("a result that is lost", o.lostResult)
	t.Run("failing reads", o.failingReads)
	t.Run("tickets of the run", o.tickets)
	t.Run("a reader who connects while it waits", o.lateReader)
	t.Run("a connected reader", o.liveReader)
	t.Run("a reader that a failing read stops", o.stoppedReader)
}

// list writes messages down, one line each.
func list(messages []core.Message) (lines []string) {
	for _, m := range messages {
		line := fmt.Sprintf("%s: %s", m.Role, m.Text())
		if m.Pending {
			line += " (pending as " + m.ID + " of " + m.RunID.String() + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *stage) page(after uint64, limit int) host.MessagePage {
	s.t.Helper()
	page, err := s.program.Messages(s.t.Context(), ann, theThread.Thread, host.MessageQuery{After: after, Limit: limit})
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// The last page has the early visible messages, after the committed part and over its
// limit. Its cursor stays the same until the round is closed.
func (o Options) pages(t *testing.T) {
	s := newStage(t, o, false, "a", "b", "c")
	s.result(1) // stored, but not yet in the head
	s.wait([]int{0, 2}, 1)
	next := s.submit("next")
	pending := unread("next", next.DispatchID, s.receipt.RunID)
	if head, err := s.box.Head(t.Context(), theThread); err != nil || len(head.Inbox) != 1 {
		t.Fatalf("inbox %v, %v; want what a person says on a waiting run", head.Inbox, err)
	}
	early := []string{`tool: {"text":"a"}`, `tool: {"text":"c"}`, pending}
	for _, tt := range []struct {
		after uint64
		limit int
		want  []string
		next  uint64
	}{
		{0, 0, append([]string{"user: parallel: a, b, c", "assistant: "}, early...), 0},
		{0, 1, []string{"user: parallel: a, b, c"}, 1},
		{1, 1, append([]string{"assistant: "}, early...), 0},
		{2, 1, early, 0},
		{3, 1, early[1:], 0},
	} {
		page := s.page(tt.after, tt.limit)
		if diff := cmp.Diff(tt.want, list(page.Messages)); diff != "" || page.Next != tt.next || page.Total != 2 {
			t.Errorf("%d after %d: next %d, total %d (-want +got):\n%s", tt.limit, tt.after, page.Next, page.Total, diff)
		}
	}
	newest, err := s.program.Messages(t.Context(), ann, theThread.Thread, host.MessageQuery{Newest: true})
	if diff := cmp.Diff(append([]string{"user: parallel: a, b, c", "assistant: "}, early...), list(newest.Messages)); diff != "" || err != nil || newest.Earlier || newest.Cut {
		t.Errorf("the newest: earlier %t, cut %t, error %v (-want +got):\n%s", newest.Earlier, newest.Cut, err, diff)
	}
	fresh := newStage(t, o, false, "a")
	first, second := fresh.submit("one"), fresh.submit("two")
	want := []string{
		"user: parallel: a", "assistant: ",
		unread("one", first.DispatchID, first.RunID), unread("two", second.DispatchID, second.RunID),
	}
	if diff := cmp.Diff(want, list(fresh.page(0, 0).Messages)); diff != "" {
		t.Errorf("after a running run (-want +got):\n%s", diff)
	}
}

// unread is the line of a pending message, the only one of its input.
func unread(text string, dispatch, run core.ID) string {
	return "user: " + text + " (pending as " + dispatch.String() + ".0 of " + run.String() + ")"
}

// ended is a stage whose run is over, for the sake of the next ones.
func (o Options) ended(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, o, false, "a")
	s.result(0)
	s.commit(thread.CommitStep{Fence: s.head.Claim.Fence, From: 2, Seq: 3, Outcome: thread.Done, Calls: []thread.CallStatus{thread.CallDone}})
	return s
}

func (o Options) unbegun(t *testing.T) {
	s := o.ended(t)
	next := s.submit("next")
	want := []string{unread("next", next.DispatchID, next.RunID)}
	for _, when := range []string{"queued", "claimed"} {
		if diff := cmp.Diff(want, list(s.page(3, 0).Messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if when == "queued" {
			s.claim()
		}
	}
}

// It becomes the next run, under its own id.
func (o Options) closingInput(t *testing.T) {
	s := newStage(t, o, false, "a")
	steered := s.steer("more")
	if diff := cmp.Diff([]string{unread("more", steered.DispatchID, s.receipt.RunID)}, list(s.page(2, 0).Messages)); diff != "" {
		t.Errorf("while the run continues (-want +got):\n%s", diff)
	}
	s.commit(thread.CommitStep{Fence: s.head.Claim.Fence, From: 2, Seq: 2, Outcome: thread.Done, Listens: true})
	want := []string{unread("more", steered.DispatchID, steered.DispatchID)}
	if diff := cmp.Diff(want, list(s.page(2, 0).Messages)); diff != "" {
		t.Errorf("while the run closes (-want +got):\n%s", diff)
	}
	s.commit(thread.CommitClose{Fence: s.head.Claim.Fence, From: 2, Seq: 3}, s.log(3, thread.Entry{Run: s.receipt.RunID, Step: 1}))
	if diff := cmp.Diff(want, list(s.page(2, 0).Messages)); diff != "" {
		t.Errorf("when it is closed (-want +got):\n%s", diff)
	}
}

func (o Options) lostInput(t *testing.T) {
	s := o.ended(t)
	next := s.submit("next")
	head, err := s.box.Head(t.Context(), theThread)
	if err != nil {
		t.Fatal(err)
	}
	head.Version++
	head.Pending = append(head.Pending, thread.Dispatch{ID: core.ID{9}, Run: core.ID{8}})
	if outcome, err := s.store.Commit(t.Context(), theThread, store.Commit{Head: head}); err != nil || !outcome.Written {
		t.Fatalf("written %v, %v", outcome.Written, err)
	}
	if diff := cmp.Diff([]string{unread("next", next.DispatchID, next.RunID)}, list(s.page(3, 0).Messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A page or a run fails if one of its reads fails.
func (o Options) failingReads(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	s.submit("next")
	broken := core.Errorf(core.CodeUnavailable, "no response")
	for _, prefix := range []string{"M#000000000001", "M#000000000003", "Q#"} {
		s.reading(func(name string) error {
			if strings.HasPrefix(name, prefix) {
				return broken
			}
			return nil
		})
		page, err := s.program.Messages(t.Context(), ann, theThread.Thread, host.MessageQuery{})
		if !errors.Is(err, broken) || page.Messages != nil {
			t.Errorf("without %s: %v, %v; want its failure", prefix, page, err)
		}
	}
}

func (o Options) lostResult(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.suspend([]int{0}, 1)
	if page, err := s.program.Messages(t.Context(), ann, theThread.Thread, host.MessageQuery{}); !errors.Is(err, store.ErrCorrupt) || page.Messages != nil {
		t.Errorf("%v, %v; want corrupt", page, err)
	}
}

func (o Options) tickets(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	run, err := s.program.ReadRun(t.Context(), ann, s.receipt.RunID)
	want := []core.Ticket{{
		Suspension: core.Suspension{ID: "s1", Action: "tool:echo"}, CallID: s.calls[1].ID, Tool: s.calls[1].Name, Arguments: s.calls[1].Arguments, Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}}
	if diff := cmp.Diff(want, run.Tickets); diff != "" || err != nil || run.Status != core.RunWaiting {
		t.Errorf("%s, %v; tickets (-want +got):\n%s", run.Status, err, diff)
	}
}

// turnOf are the events of a turn with so many calls.
func turnOf(calls int) (lines []string) {
	lines = append(lines, "run_start", "step_start")
	for i := range calls {
		lines = append(lines, fmt.Sprint("tool_call_start c", i), fmt.Sprint("tool_call_delta c", i))
	}
	for i := range calls {
		lines = append(lines, fmt.Sprint("tool_call_ready c", i))
	}
	return append(lines, "inference_complete")
}

// Results after an open call have no positions.
func (o Options) lateReader(t *testing.T) {
	for _, tt := range []struct {
		done, suspended []int
		want            []string
	}{
		{[]int{0, 3}, []int{1, 2}, []string{"tool_call_done c0", "tool_call_done c3 -", "tool_call_suspended c1 s1 -", "tool_call_suspended c2 s2 -"}},
		{[]int{1, 2, 3}, []int{0}, []string{"tool_call_done c1 -", "tool_call_done c2 -", "tool_call_done c3 -", "tool_call_suspended c0 s0 -"}},
	} {
		s := newStage(t, o, false, "a", "b", "c", "d")
		s.wait(tt.done, tt.suspended...)
		want := append(append(turnOf(4), tt.want...), "run_finish suspended")
		for range 2 { // and again who comes after
			var got events
			if err := s.program.Follow(t.Context(), ann, s.receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.lines); diff != "" {
				t.Errorf("%v done: events (-want +got):\n%s", tt.done, diff)
			}
		}
	}
}

// Unreadable records are not skipped: the stream ends before them.
func (o Options) stoppedReader(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	for _, tt := range []struct {
		what, prefix string
		want         []string
	}{
		{"log", "M#000000000001", []string{"run_start"}},
		{"result", "M#000000000003", turnOf(2)},
	} {
		s.reading(func(name string) error {
			if strings.HasPrefix(name, tt.prefix) {
				return core.Errorf(core.CodeUnavailable, "no answer")
			}
			return nil
		})
		var got events
		if err := s.program.Follow(t.Context(), ann, s.receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(tt.want, "run_yield -"), got.lines); diff != "" {
			t.Errorf("without the %s: events (-want +got):\n%s", tt.what, diff)
		}
	}
}

// Each result and ticket is shown as soon as the head has it, once.
func (o Options) liveReader(t *testing.T) {
	s := newStage(t, o, false, "a", "b", "c")
	got := events{seen: make(chan string, 100)}
	ctx, ended := s.beside(func(ctx context.Context) error {
		return s.program.Follow(ctx, ann, s.receipt.RunID, host.ListenerFunc(got.sink))
	})
	wait := func(want string) {
		t.Helper()
		for {
			select {
			case line := <-got.seen:
				if line == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("%q was not shown", want)
			}
		}
	}
	wait("inference_complete")
	s.result(2)
	s.suspend([]int{2})
	wait("tool_call_done c2 -")
	s.suspend(nil, 1)
	wait("tool_call_suspended c1 s1 -")
	s.wait([]int{0})
	if err := ended(); err != nil {
		t.Fatal(err)
	}
	want := append(turnOf(3), "tool_call_done c2 -", "tool_call_suspended c1 s1 -", "tool_call_done c0", "run_finish suspended")
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
