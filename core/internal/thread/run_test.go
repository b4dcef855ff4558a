package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
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
		{"a ticket of no kind", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Kind: thread.TicketTimer + 1}}}, "suspend: ticket of call 0 has the unknown kind 4"},
		{"a timer without a time", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Kind: thread.TicketTimer}}}, "suspend: ticket of call 0, of kind timer, wakes at 0"},
		{"a child's ticket with a time", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Kind: thread.TicketChild, WakeAt: 5}}}, "suspend: ticket of call 0, of kind child, wakes at 5"},
		{"a client's ticket with a time", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, Kind: thread.TicketClient, WakeAt: 5}}}, "suspend: ticket of call 0, of kind client, wakes at 5"},
		{"a person's ticket that is kept", thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1, WakeAt: 5, Keep: true}}}, "suspend: ticket of call 0, of kind person, is kept"},
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

// What is refused of calls that the head knows better than the step.
func TestWhatIsRefusedOfCallsThatWentOn(t *testing.T) {
	round := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 2, TurnFence: 1})
	with := func(s thread.CallStatus) thread.Head {
		h := round
		h.Run.Calls = []thread.CallStatus{s, thread.CallNew}
		return h
	}
	tests := []struct {
		was, next thread.CallStatus
		want      string // empty: accepted
		is        thread.CallStatus
	}{
		{thread.CallSuspended, thread.CallRunning, "call 0 is suspended, it cannot become running", 0},
		{thread.CallCancelling, thread.CallRunning, "call 0 is cancelling, it cannot become running", 0},
		{thread.CallResuming, thread.CallNew, "call 0 is resuming, it cannot become new", 0},
		{thread.CallDone, thread.CallDone + 1, "call 0 is done, it cannot become 6", 0},
		{thread.CallNew, thread.CallRunning, "", thread.CallRunning},
		{thread.CallResuming, thread.CallRunning, "", thread.CallRunning},
		{thread.CallResuming, thread.CallSuspended, "", thread.CallResuming},
		{thread.CallCancelling, thread.CallSuspended, "", thread.CallCancelling},
		{thread.CallDone, thread.CallNew, "", thread.CallDone},
		{thread.CallDone, thread.CallCancelling, "", thread.CallDone},
		{thread.CallSuspended, thread.CallDone, "", thread.CallDone},
	}
	for _, tt := range tests {
		next, _, err := thread.Apply(with(tt.was), thread.Transition{Now: start, CommitID: id("c"), Change: thread.Suspend{Fence: 1, Calls: []thread.CallStatus{tt.next, thread.CallNew}}})
		if tt.want == "" {
			if err != nil || next.Run.Calls[0] != tt.is {
				t.Errorf("%s becomes %s: %v, %v; want %s", tt.was, tt.next, next.Run.Calls, err, tt.is)
			}
		} else if err == nil || err.Error() != tt.want {
			t.Errorf("%s becomes %s: %v, want %s", tt.was, tt.next, err, tt.want)
		}
	}
}

// A step that still sees a call as suspended cannot bring back what a person superseded, and
// a call that asks when all places are taken is new again, whatever it was.
func TestWhichCallsGetATicket(t *testing.T) {
	round := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 9, TurnFence: 1})
	superseded := round
	superseded.Run.Calls = append([]thread.CallStatus{thread.CallCancelling}, round.Run.Calls[1:]...)
	next, _ := apply(t, superseded, start, thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1}}})
	if next.Run.Calls[0] != thread.CallCancelling || len(next.Tickets) != 0 {
		t.Errorf("a superseded call is %s, with %d tickets", next.Run.Calls[0], len(next.Tickets))
	}
	var tickets []thread.Ticket
	for call := range uint8(9) {
		tickets = append(tickets, thread.Ticket{Call: call, ID: 1})
	}
	running := round
	running.Run.Calls = append(append([]thread.CallStatus{}, round.Run.Calls[:8]...), thread.CallRunning)
	next, _ = apply(t, running, start, thread.Suspend{Fence: 1, Tickets: tickets})
	if next.Run.Calls[7] != thread.CallSuspended || next.Run.Calls[8] != thread.CallNew || len(next.Tickets) != 8 {
		t.Errorf("the eighth is %s, the ninth %s, with %d tickets; want suspended, new and 8", next.Run.Calls[7], next.Run.Calls[8], len(next.Tickets))
	}
}

// A run that ends with open calls has no open round any more, and one whose results were
// made known before has got further when the round closes.
func TestWhatARoundLeaves(t *testing.T) {
	round := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, TurnFence: 1})
	stopped, result := apply(t, round, start, thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Done, Round: true})
	if result.Outcome != thread.Close || stopped.Run.Round != 0 {
		t.Errorf("stopped with an open call: %s, the round of version %d; want close, 0", result.Outcome, stopped.Run.Round)
	}
	known := must(t, round, thread.Suspend{Fence: 1, Calls: []thread.CallStatus{thread.CallDone}}, thread.Nack{Fence: 1}, thread.TakeClaim{Worker: "w", Lease: 30_000})
	closed, _ := apply(t, known, start, thread.CommitStep{Fence: 2, From: 1, Seq: 3, Outcome: thread.Yield, Keep: true})
	if known.Run.Attempts != 1 || closed.Run.Attempts != 0 {
		t.Errorf("%d attempts, then %d; want 1 and 0", known.Run.Attempts, closed.Run.Attempts)
	}
}

// A nack of a program that makes newer records says so with the calls that it leaves. One
// that lacks something of an agent whose run ends meanwhile leaves it to nobody.
func TestWhatANackLeaves(t *testing.T) {
	round := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, TurnFence: 1})
	for _, tt := range []struct {
		calls []thread.CallStatus
		want  uint16
	}{{nil, 1}, {[]thread.CallStatus{thread.CallDone}, 4}} {
		next, _, err := thread.Apply(round, thread.Transition{Now: start, CommitID: id("c"), Schemas: thread.Schemas{Reads: 4, Writes: 4}, Change: thread.Nack{Fence: 1, Calls: tt.calls}})
		if err != nil || next.Schema != tt.want {
			t.Errorf("with the calls %v: schema %d, %v; want %d", tt.calls, next.Schema, err, tt.want)
		}
	}
	closing := must(t, round, thread.Cancel{})
	for _, ran := range []bool{false, true} {
		next, _, err := thread.Apply(closing, thread.Transition{Now: start, CommitID: id("c"), Schemas: thread.Schemas{Reads: 4, Writes: 4}, Change: thread.Nack{Fence: 1, RunEnd: ran}})
		if err != nil || ran != (next.Schema == 4) || ran != (next.Run.RunEnd == 5) {
			t.Errorf("RunEnd has run, %v: schema %d, by version %d, %v; want 4, 5 where it has", ran, next.Schema, next.Run.RunEnd, err)
		}
	}
	if next, _ := apply(t, closing, start, thread.Nack{Fence: 1, Kind: thread.NackLacks}); next.Run.LacksSince != 0 {
		t.Errorf("a run that ends lacks something since %d", next.Run.LacksSince)
	}
}

// A decision is known again while its ticket stands, by its other form, too.
func TestADecisionIsKnownAgain(t *testing.T) {
	waiting := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.TakeClaim{Worker: "w", Lease: 30_000}, thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, TurnFence: 1},
		thread.CommitStep{Fence: 1, From: 1, Seq: 1, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended}, Tickets: []thread.Ticket{{ID: 1}}})
	decided, _ := apply(t, waiting, start, thread.Decide{Run: id("r"), Decision: 5, Dedupe: 6, Resume: true})
	if diff := cmp.Diff(thread.Recent{5, 6}, decided.Recent); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	for _, again := range []thread.Decide{{Decision: 5}, {Decision: 7, Dedupe: 6}, {Decision: 7, Dedupe: 5}} {
		again.Run = id("r2") // whatever it names
		if _, result := apply(t, decided, start, again); !result.Duplicate || !result.Unchanged || result.Hint == nil {
			t.Errorf("%+v: %+v, want a duplicate with a hint", again, result)
		}
	}
	decided.Recent = nil // so many keys later
	if _, result := apply(t, decided, start, thread.Decide{Run: id("r"), Decision: 5}); !result.Duplicate || !result.Unchanged || result.Hint == nil {
		t.Errorf("the same, when its key is forgotten: %+v, want a duplicate with a hint", result)
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
