package mailbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What a submission does to a head, by its mode, its origin and what it is meant for.
func TestChange(t *testing.T) {
	free := thread.Head{}
	queued := thread.Head{Pending: []thread.Dispatch{{ID: core.ID{8}, Run: core.ID{8}}}}
	running := thread.Head{Run: thread.Run{ID: core.ID{9}, Status: thread.Running}}
	waiting := thread.Head{Run: thread.Run{ID: core.ID{9}, Status: thread.Waiting}}
	closing := thread.Head{Run: thread.Run{ID: core.ID{9}, Status: thread.Closing}}
	delayed := thread.Head{Delayed: []thread.Dispatch{{ID: core.ID{8}, Run: core.ID{8}, AvailableAt: 1000}}}
	mode := func(m Mode) Submission { return Submission{User: "ann", Mode: m} }
	with := func(s Submission, f func(*Submission)) Submission { f(&s); return s }
	retakes := func(s *Submission) { s.Opening.Retake = &Retake{Message: "m"} }
	inline := placing{inline: true, worker: "me", lease: time.Minute}
	const enqueue, claim, inbox, interrupt = "enqueue", "claim", "inbox", "interrupt"
	tests := []struct {
		name    string
		in      Submission
		placing placing
		head    thread.Head
		now     int64
		want    string
	}{
		{"a free thread", mode(""), placing{}, free, 0, enqueue},
		{"a free thread, inline", mode(""), inline, free, 0, claim},
		{"a queue, inline", mode(""), inline, queued, 0, claim}, // Apply puts it behind what is queued
		{"a run", mode(""), placing{}, running, 0, enqueue},
		{"a run that waits", mode(""), placing{}, waiting, 0, inbox},
		{"queued behind a run that waits", mode(ModeQueue), inline, waiting, 0, inbox},
		{"a run that ends", mode(""), placing{}, closing, 0, enqueue},
		{"steered to nothing", mode(ModeSteer), placing{}, free, 0, enqueue},
		{"steered to a run", mode(ModeSteer), placing{}, running, 0, inbox},
		{"steered to a run that ends", mode(ModeSteer), placing{}, closing, 0, enqueue},
		{"steered to a run that waits", mode(ModeSteer), inline, waiting, 0, inbox},
		{"rejected", mode(ModeReject), placing{}, running, 0, enqueue},
		{"rejected by a run that waits", mode(ModeReject), inline, waiting, 0, claim},
		{"an interrupt of nothing", mode(ModeInterrupt), placing{}, free, 0, interrupt},
		{"an interrupt of nothing, inline", mode(ModeInterrupt), inline, free, 0, claim},
		{"an interrupt of a queue, inline", mode(ModeInterrupt), inline, queued, 0, interrupt},
		{"an interrupt of a run", mode(ModeInterrupt), inline, waiting, 0, interrupt},
		{"an interrupt before what is delayed", mode(ModeInterrupt), inline, delayed, 999, claim},
		{"an interrupt of what is due", mode(ModeInterrupt), inline, delayed, 1000, interrupt},
		{"internal to a run that waits", with(mode(""), func(s *Submission) { s.Origin = core.OriginInternal }), placing{}, waiting, 0, enqueue},
		{"a retake of a run that waits", with(mode(ModeQueue), retakes), placing{}, waiting, 0, enqueue},
		{"apart from a run that waits", mode(""), placing{apart: true}, waiting, 0, enqueue},
		{"apart from a run", mode(ModeSteer), placing{apart: true}, running, 0, enqueue},
		{"later than a run that waits", mode(""), placing{start: 5}, waiting, 0, enqueue},
		{"into the run", with(mode(ModeSteer), func(s *Submission) { s.Into = core.ID{9} }), placing{}, running, 0, inbox},
		{"into another run", with(mode(ModeSteer), func(s *Submission) { s.Into = core.ID{7} }), placing{}, running, 0, enqueue},
		{"into another run than the one that waits", with(mode(""), func(s *Submission) { s.Into = core.ID{7} }), placing{}, waiting, 0, enqueue},
		{"after decisions", with(mode(""), func(s *Submission) { s.Answered = true }), placing{}, running, 0, inbox},
		{"queued after decisions", with(mode(ModeQueue), func(s *Submission) { s.Answered = true }), placing{}, running, 0, enqueue},
		{"a child run", with(mode(""), func(s *Submission) { s.Opening.Parent = &Parent{Thread: "p", Run: core.ID{6}, Call: 3} }), inline, waiting, 0, "child"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := tt.placing.start
			e := thread.Enqueue{Dispatch: core.ID{2}, Run: core.ID{1}, Priority: 128, AvailableAt: start, Dedupe: 12777658236164278313, Owner: "ann", RejectBusy: tt.in.Mode == ModeReject}
			child := e
			child.Child = true
			want := map[string]thread.Change{
				enqueue: e, claim: thread.EnqueueAndClaim{Enqueue: e, Worker: "me", Lease: 60_000}, interrupt: thread.Interrupt{Owner: "ann", Enqueue: &e},
				inbox: thread.Input{ID: core.ID{2}, Kind: thread.InboxPerson, Owner: "ann", Dedupe: e.Dedupe}, "child": child,
			}[tt.want]
			if diff := cmp.Diff(want, change(&tt.in, tt.placing, ids{core.ID{1}, core.ID{2}}, &tt.head, tt.now)); diff != "" {
				t.Errorf("change (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPriorityIsThatOfTheOpening(t *testing.T) {
	first := uint8(0)
	got := change(&Submission{Opening: Opening{Priority: &first}}, placing{}, ids{}, &thread.Head{}, 0)
	if e, ok := got.(thread.Enqueue); !ok || e.Priority != 0 {
		t.Errorf("change %+v, want an enqueue of priority 0", got)
	}
}

// A run that waits has no slot, and what only enqueues ends no run.
func TestReplacedRunsAreThoseWithSlots(t *testing.T) {
	two := []thread.Dispatch{{ID: core.ID{1}}, {ID: core.ID{2}}}
	tests := []struct {
		name   string
		change thread.Change
		head   thread.Head
		want   int
	}{
		{"an enqueue", thread.Enqueue{}, thread.Head{Pending: two}, 0},
		{"nothing", thread.Interrupt{}, thread.Head{}, 0},
		{"a queue", thread.Interrupt{}, thread.Head{Pending: two}, 2},
		{"a run and a queue", thread.Interrupt{}, thread.Head{Pending: two, Run: thread.Run{ID: core.ID{9}, Status: thread.Running}}, 3},
		{"a run that waits", thread.Interrupt{}, thread.Head{Run: thread.Run{ID: core.ID{9}, Status: thread.Waiting}}, 0},
	}
	for _, tt := range tests {
		if got := replacedRuns(tt.change, &tt.head); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		change thread.Change
		want   bool
	}{{thread.Input{}, false}, {thread.Enqueue{}, true}, {thread.EnqueueAndClaim{}, true}, {thread.Interrupt{}, true}} {
		if got := opens(tt.change); got != tt.want {
			t.Errorf("%T opens a run: %v, want %v", tt.change, got, tt.want)
		}
	}
}

// Only an error that says that nothing was written lets a slot go.
func TestRefusalsSayThatNothingWasWritten(t *testing.T) {
	tests := map[core.Code]bool{
		core.CodeInvalid: true, core.CodeForbidden: true, core.CodeNotFound: true, core.CodeBusy: true, core.CodeFull: true, core.CodeTooLarge: true,
		core.CodeConflict: true, core.CodeSuperseded: true, core.CodeSchema: true, core.CodeTenantLimit: true, core.CodeTenantSpend: true,
		core.CodeDeleted: false, core.CodeThrottled: false, core.CodeUnavailable: false, core.CodeCorrupt: false,
	}
	for code, want := range tests {
		if got := refusal(core.Errorf(code, "no")); got != want {
			t.Errorf("%s is a refusal: %v, want %v", code, got, want)
		}
	}
}

// Which errors of a write are worth another attempt.
func TestRetryableErrors(t *testing.T) {
	tests := map[core.Code]bool{
		core.CodeInvalid: false, core.CodeTooLarge: false, core.CodeCorrupt: false, core.CodeSchema: false, core.CodeConflict: false,
		core.CodeThrottled: true, core.CodeUnavailable: true,
	}
	for code, want := range tests {
		if got := retryable(core.Errorf(code, "no")); got != want {
			t.Errorf("%s is tried again: %v, want %v", code, got, want)
		}
	}
}

// The I/O of each change has a name, at which test builds end the process.
func TestPointsOfChanges(t *testing.T) {
	tests := []struct {
		change thread.Change
		want   points
	}{
		{thread.Enqueue{}, points{"E3", "E4"}}, {thread.EnqueueAndClaim{}, points{"E3", "E4"}}, {thread.Input{}, points{"E3", "E4"}},
		{thread.Interrupt{}, points{"E3", "E4"}}, {thread.Edit{}, points{"E3", "E4"}}, {thread.Retract{}, points{"E3", "E4"}},
		{thread.TakeClaim{}, points{"W2", "W10"}}, {thread.Reclaim{}, points{"W2", "W10"}},
		{thread.CommitTurn{}, points{"W6", "W10"}}, {thread.Suspend{}, points{"W6", "W10"}},
		{thread.Decide{}, points{"H2", "H3"}}, {thread.Cancel{}, points{"H2", "H3"}},
		{thread.CommitStep{}, points{"W9", "W10"}},
	}
	for _, tt := range tests {
		if got := pointsOf(thread.KindOf(tt.change).Stage); got != tt.want {
			t.Errorf("%T: %v, want %v", tt.change, got, tt.want)
		}
	}
}
