package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

func TestWhatAHeadSaysOfARun(t *testing.T) {
	run := func(status thread.Status) thread.Run { return thread.Run{ID: id("r1"), Status: status} }
	tests := []struct {
		name string
		head thread.Head
		run  string
		want core.RunStatus
		ok   bool
	}{
		{"nothing", thread.Head{}, "r1", "", false},
		{"nothing of no run", thread.Head{}, "", "", false},
		{"of another", thread.Head{Run: run(thread.Running)}, "r2", "", false},
		{"that it runs", thread.Head{Run: run(thread.Running)}, "r1", "running", true},
		{"that it waits", thread.Head{Run: run(thread.Waiting)}, "r1", "waiting", true},
		{"that it is over", thread.Head{Run: run(thread.Closing)}, "r1", "done", true},
		{"that it is queued", thread.Head{Pending: []thread.Dispatch{{Run: id("r2")}, {Run: id("r1")}}}, "r1", "created", true},
		{"that it is delayed", thread.Head{Run: run(thread.Running), Delayed: []thread.Dispatch{{Run: id("r2")}}}, "r2", "created", true},
	}
	for _, tt := range tests {
		if got, ok := tt.head.RunStatus(id(tt.run)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestWhichCallsMayStillWait(t *testing.T) {
	run := thread.Run{Calls: []thread.CallStatus{thread.CallNew, thread.CallRunning, thread.CallSuspended, thread.CallResuming, thread.CallCancelling, thread.CallDone}}
	var got []bool
	for call := range uint8(8) {
		got = append(got, run.Awaits(call))
	}
	if diff := cmp.Diff([]bool{true, true, true, true, false, false, false, false}, got); diff != "" {
		t.Errorf("of calls that are new, running, suspended, resuming, cancelling and done, and of two more (-want +got):\n%s", diff)
	}
}

// What is counted in one byte stays at 255 then.
func TestNoCountBeginsAgain(t *testing.T) {
	h := thread.Head{Version: 1, Fence: 1, Claim: thread.Claim{Fence: 1, Worker: "w"}, Run: thread.Run{ID: id("r"), Attempts: 2, Lost: 254, ModelLost: 254}}
	for range 3 {
		h = must(t, h, thread.Reclaim{})
		h.Claim = thread.Claim{Fence: 1, Worker: "w"}
	}
	if h.Run.Lost != 255 || h.Run.ModelLost != 255 {
		t.Errorf("%d claims are lost, %d before a turn, want 255 of both", h.Run.Lost, h.Run.ModelLost)
	}
}

func TestWhatIsRefusedOfCalls(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 2, TurnFence: 1})
	one := []thread.CallStatus{thread.CallDone}
	tests := []struct {
		name   string
		change thread.Change
		want   string
	}{
		{"a ticket of no kind", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Kind: thread.TicketChild + 1}}}, "suspend: ticket of call 0 has the unknown kind 3"},
		{"a ticket of no call", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Call: 2}}}, "suspend: call 2 of 2"},
		{"too few calls of a nack", thread.Nack{Fence: 1, Calls: one}, "1 call statuses for 2 calls"},
		{"too few calls of a suspend", thread.Suspend{Fence: 1, Calls: one}, "1 call statuses for 2 calls"},
		{"too few calls of a step", thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Yield, Calls: one}, "1 call statuses for 2 calls"},
		{"a call that is suspended without a ticket", thread.Suspend{Fence: 1, Calls: []thread.CallStatus{thread.CallSuspended, thread.CallNew}}, "call 0 is new, it cannot become suspended"},
		{"a call that a step decides", thread.Suspend{Fence: 1, Calls: []thread.CallStatus{thread.CallNew, thread.CallResuming}}, "call 1 is new, it cannot become resuming"},
		{"a status of a newer program", thread.Suspend{Fence: 1, Calls: []thread.CallStatus{thread.CallNew, thread.CallDone + 1}}, "call 1 is new, it cannot become 6"},
		{"listeners of a step that goes on leave out no result", thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Yield, Listens: true, Calls: []thread.CallStatus{thread.CallDone, thread.CallDone}}, "commit: sequence 1 leaves out results up to 3"},
		{"an end that nobody listens to leaves out no result", thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Done, Calls: []thread.CallStatus{thread.CallDone, thread.CallDone}}, "commit: sequence 1 leaves out results up to 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: id("c"), Change: tt.change})
			if core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("Apply returns %v, want %s", err, tt.want)
			}
		})
	}
}

// A holder that meets a record of a newer program puts nothing in force of it.
func TestNobodyPutsInForceWhatItCannotRead(t *testing.T) {
	held := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	round := must(t, held, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, TurnFence: 1})
	closing := must(t, round, thread.Cancel{})
	tests := []struct {
		head thread.Head
		of   func(schema uint16) thread.Change
	}{
		{held, func(schema uint16) thread.Change {
			return thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, Schema: schema}
		}},
		{held, func(schema uint16) thread.Change {
			return thread.CommitStep{Fence: 1, Seq: 1, Outcome: thread.Yield, Schema: schema}
		}},
		{round, func(schema uint16) thread.Change { return thread.Suspend{Fence: 1, Schema: schema} }},
		{closing, func(schema uint16) thread.Change {
			return thread.CommitClose{Fence: 1, From: 1, Seq: 2, Schema: schema}
		}},
	}
	for _, tt := range tests {
		name := thread.KindOf(tt.of(0)).Name
		t.Run(name, func(t *testing.T) {
			apply := func(schema uint16) (thread.Head, error) {
				h, _, err := thread.Apply(tt.head, thread.Transition{Now: start, CommitID: id("c"), Schemas: thread.Schemas{Reads: 5, Writes: 3}, Change: tt.of(schema)})
				return h, err
			}
			for schema, want := range map[uint16]uint16{0: 3, 2: 3, 4: 4, 5: 5} {
				if h, err := apply(schema); err != nil || h.Schema != want {
					t.Errorf("with a record of schema %d the head is of %d, %v; want %d", schema, h.Schema, err, want)
				}
			}
			if _, err := apply(6); core.CodeOf(err) != core.CodeSchema || err.Error() != "adopted record of schema 6, newest known 5: thread was written by a newer version of the program" {
				t.Errorf("a record of schema 6: %v", err)
			}
		})
	}
}
