package thread_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
)

func TestKindsOfWhatIsOwed(t *testing.T) {
	var announces, delivers, records []string
	for kind := range thread.OutboxKind(9) {
		e := thread.OutboxEntry{Kind: kind}
		if e.Announces() {
			announces = append(announces, kind.String())
		}
		if e.Delivers() {
			delivers = append(delivers, kind.String())
		}
		if (thread.Outbox{e}).OwesRecords() {
			records = append(records, kind.String())
		}
	}
	if want := []string{"waiting", "ended", "dead-lettered"}; !slices.Equal(announces, want) {
		t.Errorf("announcements are %v, want %v", announces, want)
	}
	if want := []string{"child-ended", "cancel", "message", "waiting", "ended", "dead-lettered"}; !slices.Equal(delivers, want) {
		t.Errorf("delivered are %v, want %v", delivers, want)
	}
	if want := []string{"none", "child-ended", "cancel", "message", "7", "8"}; !slices.Equal(records, want) {
		t.Errorf("what needs records are %v, want %v", records, want)
	}
}

// The oldest announcement that stands says how many were dropped before it, and no other does.
func TestWhichAnnouncementSaysWhatIsMissed(t *testing.T) {
	ended := func(name string) thread.OutboxEntry {
		return thread.OutboxEntry{ID: id(name), Kind: thread.OutboxEnded}
	}
	child := thread.OutboxEntry{ID: id("a"), Kind: thread.OutboxChildEnded}
	tests := []struct {
		name   string
		outbox thread.Outbox
		of     thread.OutboxEntry
		want   uint16
	}{
		{"the first of all", thread.Outbox{ended("a"), ended("b")}, ended("a"), 3},
		{"the second", thread.Outbox{ended("a"), ended("b")}, ended("b"), 0},
		{"the first behind a child's end", thread.Outbox{child, ended("a"), ended("b")}, ended("a"), 3},
		{"the child's end", thread.Outbox{child, ended("a")}, child, 0},
		{"one that stands no more", thread.Outbox{ended("b")}, ended("a"), 0},
		{"where none stands", thread.Outbox{child}, ended("b"), 0},
		{"where nothing stands", nil, ended("b"), 0},
	}
	for _, tt := range tests {
		h := thread.Head{Missed: 3, Outbox: tt.outbox}
		if got := h.SaysMissed(tt.of); got != tt.want {
			t.Errorf("%s says %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A write that leaves nothing to claim wakes a worker for what is to be delivered now, by a
// program of this kind.
func TestWhoDeliversIsWoken(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	owed := func(kind thread.OutboxKind, next int64) thread.Head {
		n := h
		n.Outbox = thread.Outbox{{ID: id("x"), Kind: kind, Next: next}}
		return n
	}
	two := must(t, h, thread.Enqueue{Dispatch: id("d2"), Run: id("r2")})
	two.Outbox = thread.Outbox{{ID: id("x"), Kind: thread.OutboxEnded, Next: start}}
	tests := []struct {
		name string
		head thread.Head
		want *thread.Hint
	}{
		{"nothing is owed", h, nil},
		{"something, now", owed(thread.OutboxEnded, start), &thread.Hint{}},
		{"something, in a moment", owed(thread.OutboxEnded, start+1), nil},
		{"a message, now", owed(thread.OutboxMessage, start), &thread.Hint{}},
		{"a cancel, now", owed(thread.OutboxCancel, start), &thread.Hint{}},
		{"something of a newer program, now", owed(9, start-1), nil},
		{"something, and the next run can open", two, &thread.Hint{Dispatch: id("d2")}},
	}
	for _, tt := range tests {
		_, result, err := thread.Apply(tt.head, thread.Transition{Now: start, CommitID: id("c"), Change: thread.Cancel{Run: id("r")}})
		if diff := cmp.Diff(tt.want, result.Hint); err != nil || diff != "" {
			t.Errorf("%s: %v, the hint (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// An entry is cleared, or put off. The write sends no hint: the worker has others to try.
func TestWhatBecomesOfAnEntry(t *testing.T) {
	entry := thread.OutboxEntry{ID: id("x"), Kind: thread.OutboxEnded, Next: start, Tries: 254}
	first := entry
	first.Next = 0
	tests := []struct {
		name   string
		entry  thread.OutboxEntry
		change thread.Delivered
		want   *thread.OutboxEntry // nil: cleared
	}{
		{"delivered", entry, thread.Delivered{}, nil},
		{"one that was due from the beginning, delivered", first, thread.Delivered{}, nil},
		{"delivered by who was about to", entry, thread.Delivered{Was: start}, nil},
		{"put off", entry, thread.Delivered{Next: start + 9}, &thread.OutboxEntry{Tries: 254, Next: start + 9}},
		{"failed", entry, thread.Delivered{Next: start + 9, Failed: true}, &thread.OutboxEntry{Tries: 255, Next: start + 9}},
		{"failed, as others have not noted", entry, thread.Delivered{Next: start + 9, Failed: true, Was: start}, &thread.OutboxEntry{Tries: 255, Next: start + 9}},
		{"taken on", entry, thread.Delivered{Next: start + 9, Was: start}, &thread.OutboxEntry{Tries: 254, Next: start + 9}},
	}
	for _, tt := range tests {
		tt.change.ID, tt.change.Kind = id("x"), thread.OutboxEnded
		next, result := apply(t, thread.Head{Version: 1, Outbox: thread.Outbox{tt.entry}}, start, tt.change)
		if tt.want != nil {
			tt.want.ID, tt.want.Kind = id("x"), thread.OutboxEnded
		}
		if tt.want == nil && len(next.Outbox) != 0 || tt.want != nil && (len(next.Outbox) != 1 || next.Outbox[0] != *tt.want) {
			t.Errorf("%s: %+v is left, want %+v", tt.name, next.Outbox, tt.want)
		}
		if result.Hint != nil || result.Unchanged {
			t.Errorf("%s: unchanged %v, hint %+v", tt.name, result.Unchanged, result.Hint)
		}
	}
}

// Who comes too late, or is not alone, changes nothing, and sends no hint: whoever made what can be
// claimed has sent it.
func TestWhoDeliversAnEntryInVain(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	h.Outbox = thread.Outbox{{ID: id("x"), Kind: thread.OutboxEnded, Next: start + 5}}
	for _, c := range []thread.Delivered{
		{ID: id("y"), Kind: thread.OutboxEnded},
		{ID: id("x"), Kind: thread.OutboxWaiting},
		{ID: id("x"), Kind: thread.OutboxEnded, Next: start + 5},
		{ID: id("x"), Kind: thread.OutboxEnded, Next: start + 9, Was: start + 4},
		{ID: id("x"), Kind: thread.OutboxEnded, Was: start + 4},
		{ID: id("x"), Kind: thread.OutboxEnded, Next: start + 9, Failed: true, Was: start + 4},
	} {
		_, result := apply(t, h, start, c)
		if !result.Unchanged || !result.Duplicate || result.Hint != nil {
			t.Errorf("%+v: %+v, want a duplicate without a hint", c, result)
		}
	}
}

// A run that is given up is announced, whoever finds that it made no progress.
func TestAGivenUpRunIsAnnounced(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	h.Run.Attempts = 5
	want := thread.Outbox{{ID: id("r"), Kind: thread.OutboxDeadLettered, Next: start + 2_000}}
	next, _ := apply(t, h, start, thread.Nack{Fence: 1})
	if diff := cmp.Diff(want, next.Outbox); diff != "" {
		t.Errorf("by a nack (-want +got):\n%s", diff)
	}
	h.Claim = thread.Claim{}
	next, result := apply(t, h, start, thread.TakeClaim{Worker: "w", Lease: 30_000})
	if diff := cmp.Diff(want, next.Outbox); diff != "" || !result.Claimed || result.Before != nil {
		t.Errorf("by a claim, %+v (-want +got):\n%s", result, diff)
	}
}

// What is said of a run reaches who follows it, while it is open.
func TestWhoFollowsIsToldUntilTheRunIsOver(t *testing.T) {
	held := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.Enqueue{Dispatch: id("d2"), Run: id("r2")})
	tests := []struct {
		name   string
		change thread.Change
		want   *thread.Hint
	}{
		{"a nack", thread.Nack{Fence: 1, Followed: 7}, &thread.Hint{Dispatch: id("d"), Followed: 7}},
		{"a nack for later", thread.Nack{Fence: 1, AvailableAt: start + 1, Followed: 7}, &thread.Hint{Dispatch: id("d"), At: start + 1, Followed: 7}},
		{"a nack for now", thread.Nack{Fence: 1, AvailableAt: start, Followed: 7}, &thread.Hint{Dispatch: id("d"), Followed: 7}},
		{"a step", thread.CommitStep{Fence: 1, Seq: 1, Outcome: thread.Yield, Followed: 7}, &thread.Hint{Dispatch: id("d"), Followed: 7}},
		{"the end", thread.CommitStep{Fence: 1, Seq: 1, Outcome: thread.Done, Natural: true, Followed: 7}, &thread.Hint{Dispatch: id("d2")}},
	}
	for _, tt := range tests {
		_, result := apply(t, held, start, tt.change)
		if diff := cmp.Diff(tt.want, result.Hint); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// How precisely a backend finds what is due.
func TestWhenTheSweepLooks(t *testing.T) {
	at := func(available int64) thread.Head {
		return thread.Head{Version: 1, Delayed: []thread.Dispatch{{ID: id("d"), Run: id("r"), AvailableAt: available}}}
	}
	was := func(h thread.Head, due int64) thread.Head {
		h.DueAt = due
		return h
	}
	tests := []struct {
		name string
		head thread.Head
		due  thread.DuePolicy
		want int64
	}{
		{"exactly", at(start + 7), thread.DuePolicy{}, start + 7},
		{"exactly, whatever it was", was(at(start+7), start+3), thread.DuePolicy{}, start + 7},
		{"not before the grace", at(start + 7), thread.DuePolicy{Grace: 9}, start + 9},
		{"on the round", at(start + 60_000), thread.DuePolicy{Round: 60_000}, start + 60_000},
		{"a moment behind one", at(start + 60_001), thread.DuePolicy{Round: 60_000}, start + 120_000},
		{"as it was, in rounds", was(at(start+60_001), start+60_000), thread.DuePolicy{Round: 60_000}, start + 60_000},
		{"as it was, in rounds of a millisecond", was(at(start+9), start+3), thread.DuePolicy{Round: 1}, start + 3},
		{"earlier than it was", was(at(start+60_001), start+180_000), thread.DuePolicy{Round: 60_000}, start + 120_000},
		{"later than what has passed", was(at(start+60_001), start), thread.DuePolicy{Round: 60_000}, start + 120_000},
	}
	for _, tt := range tests {
		next, _, err := thread.Apply(tt.head, thread.Transition{Now: start, CommitID: id("c"), Due: tt.due, Change: thread.Touch{}})
		if err != nil || next.DueAt != tt.want {
			t.Errorf("%s: %d, %v; want %d", tt.name, next.DueAt-start, err, tt.want-start)
		}
	}
	decided := thread.Head{Version: 1, Run: thread.Run{ID: id("r"), Status: thread.Waiting, Batch: true, Cursor: thread.CursorTools, Calls: []thread.CallStatus{thread.CallResuming, thread.CallSuspended}},
		Tickets: thread.Tickets{{ID: 1, Decision: 5, Deadline: start + 3}, {ID: 2, Call: 1, Deadline: start + 60}}}
	if next, _ := apply(t, decided, start, thread.Touch{}); next.DueAt != start+60 {
		t.Errorf("a batch that waits is due at %d, want 60 for the ticket that nobody decided", next.DueAt-start)
	}
	if _, result := apply(t, decided, start+9, thread.TakeClaim{Worker: "w", Lease: 1}); result.Claimed {
		t.Error("the deadline of a decided ticket ends the run")
	}
}

// Of two delayed runs that are due since the same time the first opens first.
func TestDelayedRunsOpenInTheirOrder(t *testing.T) {
	h := thread.Head{Version: 1, Delayed: []thread.Dispatch{{ID: id("d1"), Run: id("r1"), AvailableAt: 5}, {ID: id("d2"), Run: id("r2"), AvailableAt: 5}}}
	if next, _ := apply(t, h, start, thread.TakeClaim{Worker: "w", Lease: 1}); next.Run.ID != id("r1") {
		t.Errorf("run %s opens, want r1", next.Run.ID)
	}
	if _, result := apply(t, h, 5, thread.Touch{}); result.Hint != nil {
		t.Errorf("a touch hints: %+v", result.Hint)
	}
}
