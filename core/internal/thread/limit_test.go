package thread_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// must applies changes that have to be accepted.
func must(t *testing.T, h thread.Head, changes ...thread.Change) thread.Head {
	t.Helper()
	for _, c := range changes {
		next, result, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id("commit"), Schemas: thread.Schemas{Reads: math.MaxUint16}, Announce: true, Change: c})
		if err != nil || result.Unchanged {
			t.Fatalf("%T: %v, unchanged %v", c, err, result.Unchanged)
		}
		h = next
	}
	return h
}

// busy is a head with an open run under a claim, of 32 calls, and as many of
// everything else as asked; each run is a child.
func busy(t *testing.T, owner, worker string, each int) thread.Head {
	t.Helper()
	enqueue := func(name string) thread.Enqueue {
		return thread.Enqueue{
			Dispatch: id("d" + name), Run: id("r" + name), Priority: 255, Dedupe: math.MaxUint64,
			Owner: owner, Child: true,
		}
	}
	h := must(t, thread.Head{},
		enqueue("0"), thread.TakeClaim{Worker: worker, Lease: 30_000},
		thread.CommitTurn{Fence: 1, Seq: 900_000_000_000, Calls: 32, TurnFence: 1})
	for i := range each {
		e := enqueue(fmt.Sprint(i + 1))
		e.Dedupe -= uint64(i + 1)
		ticket := thread.Ticket{Call: uint8(i), ID: math.MaxUint64, Deadline: start + 86_400_000}
		h = must(t, h, e,
			thread.Input{ID: id(fmt.Sprint("i", i)), Owner: owner, Dedupe: 1<<60 + uint64(i)},
			thread.Suspend{Fence: 1, Tickets: []thread.Ticket{ticket}})
	}
	return h
}

func TestSizeOfATypicalHeadIsUnderAKilobyte(t *testing.T) {
	owner, worker := strings.Repeat("o", 36), strings.Repeat("w", 36)
	h := busy(t, owner, worker, 2)
	for i := range uint64(11) { // the ring holds 16
		h = must(t, h, thread.Input{ID: id("x"), Owner: owner, Dedupe: 1<<62 + i}, thread.Retract{ID: id("x")})
	}
	h.TailSum, h.Run.Children = 1<<31, []core.ID{id("c1"), id("c2")}
	h.Extensions = []thread.Extension{{Run: h.Run.ID, Tag: 2, Value: make([]byte, 8)}}
	for i := range h.Tickets {
		h.Tickets[i].Kind, h.Tickets[i].WakeAt = thread.TicketTimer, start+86_400_000
	}
	if len(h.Pending) != 2 || len(h.Tickets) != 2 || len(h.Inbox) != 2 || len(h.Recent) != 16 {
		t.Fatalf("not what this is about:\n%s", describeHead(h))
	}
	if got := h.Size(); got > 1024 {
		t.Errorf("size %d bytes, at most 1024", got)
	}
}

// fullest is the largest head that can be: every table full, every name as long
// as it may be, every number large.
func fullest(t *testing.T) thread.Head {
	t.Helper()
	const large = math.MaxUint64 - 99
	h := busy(t, longest, longest[:64], 8)
	h.Schema, h.Version, h.Epoch, h.Fence, h.Closing, h.Incarnation = math.MaxUint16, large, large, large, large, large
	h.ClosingAt, h.Missed, h.TailSum = math.MaxInt64, math.MaxUint16, math.MaxUint32
	h.Claim.Fence, h.Claim.Epoch, h.Claim.Lease = large, large, math.MaxInt64-99
	h.Summary, h.Supersedes, h.DueAt = 900_000_000_000, 999_000_000_000, math.MaxInt64
	h.Run.WaitsSince, h.Run.LacksSince, h.Run.RunEnd, h.Run.Through = math.MaxInt64, math.MaxInt64, large, thread.Through{May: math.MaxUint32, Ran: math.MaxUint32}
	h.Run.Stretch = thread.Stretch{Number: large, Since: math.MaxInt64, Over: true, Behind: large, Wasted: large}
	s := &h.Run.Stretch.Spent
	for _, figure := range []*int64{&s.Handler, &s.Write, &s.Read, &s.Queue, &s.WriteMore, &s.QueueMore} {
		*figure = math.MaxInt64
	}
	h.Run.Step, h.Run.Revision, h.Run.TurnFence, h.Run.Round, h.Run.Batch = math.MaxUint32-9, math.MaxUint32, large, large, true
	for kind, n := range map[thread.OutboxKind]int{thread.OutboxCancel: 10, thread.OutboxMessage: 8, thread.OutboxEnded: 4} {
		for i := range n {
			h.Outbox = append(h.Outbox, thread.OutboxEntry{ID: id(fmt.Sprint("o", i)), Kind: kind, Tries: 255, Next: math.MaxInt64})
		}
	}
	h.Outbox = append(h.Outbox, thread.OutboxEntry{ID: id("c"), Kind: thread.OutboxChildEnded, Tries: 255, Next: math.MaxInt64})
	for i := range h.Pending {
		h.Pending[i].Revision = math.MaxUint32
	}
	for i := range 8 {
		h = must(t, h, thread.Enqueue{Dispatch: id(fmt.Sprint("later", i)), Run: id(fmt.Sprint("much later", i)), Priority: 255, AvailableAt: math.MaxInt64, Owner: longest})
		h.Delayed[i].Revision = math.MaxUint32
	}
	for i := range h.Inbox {
		h.Inbox[i].Revision = math.MaxUint32
	}
	for i := range h.Tickets {
		h.Tickets[i].Kind, h.Tickets[i].Deadline, h.Tickets[i].WakeAt = thread.TicketTimer, math.MaxInt64, math.MaxInt64
	}
	for i := range 16 {
		h.Run.Children = append(h.Run.Children, id(fmt.Sprint("child", i)))
	}
	for len(h.Recent) < 16 {
		h.Recent = append(h.Recent, math.MaxUint64)
	}
	h.Extensions = []thread.Extension{{Run: h.Run.ID, Tag: large, Value: make([]byte, 512-27)}}
	return h
}

// Whoever ends or decides something is not refused, however full the head is.
func TestNothingOutgrowsTheHead(t *testing.T) {
	h := fullest(t)
	fence := h.Claim.Fence
	if got := h.Size(); got < 3200 || got > 3300 {
		t.Errorf("the fullest head has %d bytes", got)
	}
	steps := []thread.Change{
		thread.Decide{Run: id("r0"), Call: 0, Decision: 12345, Resume: true},
		thread.Refence{Fence: fence},
		thread.Cancel{Run: id("r8")},
		thread.CommitStep{Fence: fence + 1, From: h.Seq, Outcome: thread.Done, Seq: h.Seq},
		thread.CommitClose{Fence: fence + 1, From: h.Seq, Seq: h.Seq + 32},
		thread.TakeClaim{Worker: longest[:64], Lease: math.MaxInt32},
		thread.Cancel{Run: id("i0")},
		thread.Interrupt{Owner: longest, Dedupe: 7, Epoch: math.MaxUint64},
		thread.CommitClose{Fence: fence + 2, From: h.Seq + 32, Seq: h.Seq + 32},
		thread.Delivered{ID: id("c"), Kind: thread.OutboxChildEnded},
		thread.Delete{Owner: longest},
	}
	for i, c := range steps {
		h = must(t, h, c)
		if got := h.Size(); got > 4096 {
			t.Errorf("after %T the head has %d bytes", c, got)
		}
		if i == 4 && (len(h.Pending) != 8 || !h.Pending[7].Steered || len(h.Pending[7].Rest) != 7) {
			t.Errorf("the steered input does not wait behind the queue:\n%s", describeHead(h))
		}
	}
	parents, announced := 0, 0
	for _, e := range h.Outbox {
		if e.Kind == thread.OutboxChildEnded {
			parents++
		} else if e.Announces() {
			announced++
		}
	}
	if parents != 9 || announced != 4 || len(h.Outbox) != 31 || h.Missed != math.MaxUint16 {
		t.Errorf("%d parents are to be told, of %d entries %d announce, %d are missed; want 9, of 31 4, and the highest number", parents, len(h.Outbox), announced, h.Missed)
	}
}

// The estimate is above every size, and for a usual head far below the limit,
// where it spares an encoding.
func TestEstimateOfASizeCountsEveryPart(t *testing.T) {
	full := fullest(t)
	steered := thread.Head{Pending: []thread.Dispatch{{Steered: true, Rest: make([]thread.InboxEntry, 8)}}}
	tests := []struct {
		name        string
		head        thread.Head
		bound, size int
	}{
		{"none", thread.Head{}, 512, 53},
		{"usual", busy(t, "owner", "worker", 2), 877, 376},
		{"fullest", full, 3875, 3229},
		{"steered input", steered, 832, 233},
	}
	for _, tt := range tests {
		if bound, size := thread.Bound(&tt.head), tt.head.Size(); bound != tt.bound || size != tt.size {
			t.Errorf("%s: estimate %d of %d bytes, want %d of %d", tt.name, bound, size, tt.bound, tt.size)
		}
	}
}

func TestNamesThatAreTooLongAreRefused(t *testing.T) {
	over := longest + "n"
	tests := []struct {
		name   string
		change thread.Change
		want   string
	}{
		{"owner", thread.Enqueue{Dispatch: id("d"), Run: id("r"), Owner: over}, "enqueue: owner of 129 bytes, at most 128 are allowed"},
		{"worker", thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d"), Run: id("r")}, Worker: over[:65], Lease: 1}, "claim: worker name of 65 bytes, allowed are 1 to 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := thread.Apply(thread.Head{}, thread.Transition{Now: start, Change: tt.change})
			if core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSequenceHasTwelveDigits(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	step := func(seq uint64) error {
		_, _, err := thread.Apply(h, thread.Transition{Now: start, Change: thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: seq}})
		return err
	}
	if err := step(999_999_999_999); err != nil {
		t.Errorf("the last sequence is refused: %v", err)
	}
	if err := step(1_000_000_000_000); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("error %v, want invalid", err)
	}
}

// Behind a turn there is room for the most results that a turn can have, and for
// the record of the step.
func TestTurnLeavesRoomForItsResults(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	turn := func(seq uint64) error {
		_, _, err := thread.Apply(h, thread.Transition{Now: start, Change: thread.CommitTurn{Fence: 1, Seq: seq, Calls: 32, TurnFence: 1}})
		return err
	}
	if err := turn(999_999_999_966); err != nil {
		t.Errorf("the last sequence of a turn is refused: %v", err)
	}
	if err := turn(999_999_999_967); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("error %v, want invalid", err)
	}
}

// A run has sixteen open children, and whatever the seventeenth comes with is refused.
func TestARunHasSixteenOpenChildren(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	for i := range 16 {
		h.Run.Children = append(h.Run.Children, id(fmt.Sprint("c", i)))
	}
	h = must(t, h, thread.Touch{})
	if len(h.Run.Children) != 16 || h.Run.Children[15] != id("c15") {
		t.Errorf("children %v", h.Run.Children)
	}
	h.Run.Children = append(h.Run.Children, id("c16"))
	got, result, err := thread.Apply(h, thread.Transition{Now: start, Change: thread.Touch{}})
	if !errors.Is(err, thread.ErrTooManyChildren) || core.CodeOf(err) != core.CodeFull || err.Error() != "a run has at most 16 open children" {
		t.Errorf("error %v, want that there are too many", err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(thread.Result{}, result); diff != "" {
		t.Error(diff)
	}
	must(t, h, thread.CommitStep{Fence: 1, Outcome: thread.Done, Seq: 2}) // they go with their run
}

// The seventeenth key drops the first, and no other.
func TestSixteenKeysAreRemembered(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	for key := range uint64(17) {
		h = must(t, h, thread.Input{ID: id("i"), Dedupe: key + 1}, thread.Retract{ID: id("i")})
	}
	want := thread.Recent{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	if diff := cmp.Diff(want, h.Recent); diff != "" {
		t.Error(diff)
	}
}

// A head from a corrupt or foreign store may be over the limit; it is not
// written back.
func TestHeadOverItsLimitIsRefused(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	h.Owner = strings.Repeat("o", 4096)
	if _, _, err := thread.Apply(h, thread.Transition{Now: start, Change: thread.TakeClaim{Worker: "w", Lease: 1}}); !errors.Is(err, thread.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestZeroClockStillMakesAThreadDue(t *testing.T) {
	next, _, err := thread.Apply(thread.Head{}, thread.Transition{Change: thread.Enqueue{Dispatch: id("d"), Run: id("r")}})
	if err != nil || next.DueAt != 1 {
		t.Errorf("due at %d (%v), want 1", next.DueAt, err)
	}
}

func TestNamesOfUnknownValues(t *testing.T) {
	tests := []struct{ got, want string }{
		{thread.Wait.String(), "wait"},
		{thread.Outcome(9).String(), "9"},
		{thread.CallStatus(99).String(), "99"},
		{thread.InboxInternal.String(), "internal"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestEndOfARunHasAReasonThatReadersKnow(t *testing.T) {
	tests := []struct {
		reason thread.Reason
		want   core.TerminationType
		code   string
	}{
		{thread.ReasonCancelled, "cancelled", ""},
		{thread.ReasonSuperseded, "superseded", ""},
		{thread.ReasonExpired, "error", "expired"},
		{thread.ReasonDeadLetter, "error", "dead_letter"},
	}
	for _, tt := range tests {
		if got := tt.reason.Termination(); got == nil || got.Type != tt.want || got.Code != tt.code {
			t.Errorf("%s ends with %+v, want %s %s", tt.reason, got, tt.want, tt.code)
		}
	}
	if got := thread.ReasonNone.Termination(); got != nil {
		t.Errorf("no reason ends with %+v", got)
	}
}

// A holder that got no response looks for its own commit id, whoever has written
// since.
func TestCommitOfAHolderIsNotHiddenByOthersWrites(t *testing.T) {
	var h thread.Head
	apply := func(commit string, change thread.Change) {
		t.Helper()
		next, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id(commit), Change: change})
		if err != nil {
			t.Fatal(err)
		}
		h = next
	}
	check := func(commit, holder string) {
		t.Helper()
		if h.CommitID != id(commit) || h.HolderCommitID != id(holder) {
			t.Errorf("commit %s, the holder's %s; want %s and %s", trim(h.CommitID[:]), trim(h.HolderCommitID[:]), commit, holder)
		}
	}
	apply("c1", thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d"), Run: id("r")}, Worker: "w", Lease: 30_000})
	check("c1", "")
	apply("c2", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1, TurnFence: 1})
	check("c2", "c2")
	apply("c3", thread.ExtendLease{Fence: 1, Lease: 60_000})
	check("c3", "c2")
	apply("c4", thread.Input{ID: id("i")})
	check("c4", "c2")
	apply("c5", thread.Nack{Fence: 1})
	check("c5", "c5")
	apply("c6", thread.TakeClaim{Worker: "v", Lease: 30_000})
	check("c6", "c5")
	apply("c7", thread.Refence{Fence: 2})
	check("c7", "c7")
	apply("c8", thread.Touch{})
	check("c8", "c7")
	apply("c9", thread.Delete{})
	check("c9", "c7")
}

// What was accepted and not read is shown as pending, wherever it waits.
func TestQueuesFindsInputThatNoStepHasRead(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000},
		thread.Input{ID: id("i")}, thread.Input{ID: id("j")}, thread.Input{ID: id("k")}, thread.Edit{ID: id("j"), Revision: 3},
		thread.CommitStep{Fence: 1, Outcome: thread.Done, Seq: 2},
		thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.Input{ID: id("l")},
		thread.CommitStep{Fence: 2, From: 2, Outcome: thread.Done, Seq: 5, Consumed: []thread.InboxRef{{ID: id("k"), Seq: 4}}})
	tests := []struct {
		id       string
		revision uint32
		ok       bool
	}{{"d", 0, false}, {"i", 0, false}, {"j", 3, true}, {"k", 0, false}, {"l", 0, true}, {"m", 0, false}}
	for _, tt := range tests {
		if revision, ok := h.Queues(id(tt.id)); revision != tt.revision || ok != tt.ok {
			t.Errorf("%s: revision %d, queued %v; want %d, %v", tt.id, revision, ok, tt.revision, tt.ok)
		}
	}
	if status, ok := h.RunStatus(id("j")); status != core.RunCreated || !ok {
		t.Errorf("the run of j is %q, %v", status, ok)
	}
	if status, ok := h.RunStatus(core.ID{}); ok {
		t.Errorf("a run without an id is %q", status)
	}
}
