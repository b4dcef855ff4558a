package mailbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func TestTickets(t *testing.T) {
	w, _ := waiting(t, asks(0), asks(1))
	w.decide(t, deciding("c0", "d"))
	head := w.head(t)
	got, err := w.Tickets(t.Context(), key, head)
	said := deciding("c0", "d").Decision
	said.User = "ann"
	want := []core.Ticket{asks(0, func(t *core.Ticket) { t.Decision = &said }), asks(1)}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := w.Tickets(t.Context(), key, thread.Head{}); got != nil || err != nil {
		t.Errorf("without tickets: %v, %v", got, err)
	}
	lost := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
	w.loses(lost)
	if got, err := w.Tickets(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("a lost decision: %v, %v; want corrupt", got, err)
	}
	name := recordname.Suspension(head.Run.ID, 1, 1, thread.TicketKey(head.Run.ID, "s1"))
	w.loses(name)
	if got, err := w.Tickets(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("a lost record: %v, %v; want corrupt", got, err)
	}
	w.loses()
	w.put(t, store.Record{Name: name, Fence: 9, Payload: encoded(t, thread.TicketRecord{Ticket: asks(0)})})
	if got, err := w.Tickets(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("another's record: %v, %v; want corrupt", got, err)
	}
}

// Asked leaves out what was decided and what a child run or the clock decides.
func TestAskedIsWhatAPersonOrAClientDecides(t *testing.T) {
	w, _ := waiting(t, asks(0), asks(1), asks(2), asks(3), asks(4))
	w.decide(t, deciding("c0", "d"))
	head := w.head(t)
	head.Tickets[1].Kind, head.Tickets[2].Kind, head.Tickets[4].Kind = thread.TicketChild, thread.TicketClient, thread.TicketTimer
	got, err := w.Asked(t.Context(), key, head)
	if diff := cmp.Diff([]core.Ticket{asks(2), asks(3)}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := w.Asked(t.Context(), key, thread.Head{}); got != nil || err != nil {
		t.Errorf("without tickets: %v, %v", got, err)
	}
	w.loses(recordname.Suspension(head.Run.ID, 1, 2, thread.TicketKey(head.Run.ID, "s2")))
	if got, err := w.Asked(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("a lost record: %v, %v; want corrupt", got, err)
	}
}

// A decision that is not written has no receipt and wakes nobody; one whose hint
// is lost is taken all the same.
func TestDecisionThatCannotBeWritten(t *testing.T) {
	w, before := waiting(t, asks(0))
	broken := core.Errorf(core.CodeInvalid, "no")
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		return store.Outcome{}, broken
	}
	got, err := w.Decide(t.Context(), key, deciding("c0", "d"))
	if !errors.Is(err, broken) || got != (mailbox.Decided{}) || len(w.queue.Messages()) != 0 {
		t.Errorf("%+v, %v, hints %v; want the failure", got, err, w.queue.Lines())
	}
	if diff := cmp.Diff(before, w.head(t)); diff != "" {
		t.Errorf("head (-before +after):\n%s", diff)
	}
	w.store.OnCommit, w.queue.OnWake = nil, refuse
	if got := w.decide(t, deciding("c0", "d")); got.Duplicate || w.head(t).Run.Calls[0] != thread.CallResuming {
		t.Errorf("%+v, calls %v; want it taken", got, w.head(t).Run.Calls)
	}
}

// A head whose ticket is of a call that the turn does not have is damaged; nothing
// is decided there.
func TestDecisionOnACallThatTheTurnDoesNotHave(t *testing.T) {
	w, head := waiting(t, asks(0), asks(1))
	turn := thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{ID: "m", Role: core.RoleAssistant, ToolCalls: []core.ToolCall{callOf(asks(0))}}}
	if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base - 1), Fence: 9, Payload: encoded(t, turn)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Decide(t.Context(), key, deciding("c1", "d")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%v, want code not_found", err)
	}
}
