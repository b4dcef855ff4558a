package mailbox_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// asks is a ticket of call number n, "c<n>", under the suspension "s<n>".
func asks(n int, change ...func(*core.Ticket)) core.Ticket {
	t := core.Ticket{
		Suspension: core.Suspension{ID: fmt.Sprint("s", n), Action: "tool:ask"},
		CallID:     fmt.Sprint("c", n), Tool: "ask", Arguments: json.RawMessage(`{}`),
		Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

// callOf is the call of a ticket, as the turn has it.
func callOf(t core.Ticket) core.ToolCall {
	return core.ToolCall{ID: t.CallID, Name: t.Tool, Arguments: t.Arguments}
}

// encoded is the payload of a record.
func encoded(t *testing.T, v any) []byte {
	t.Helper()
	encode := func() ([]byte, error) { return thread.Records{}.Encode("record", v) }
	if e, isEntry := v.(thread.Entry); isEntry {
		encode = func() ([]byte, error) { return thread.Records{}.EncodeEntry(&e) }
	}
	payload, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// waits lets the claimed run make a turn with a call for each ticket, which
// suspends it, and wait. It returns the head.
func (w *world) waits(t *testing.T, head thread.Head, tickets ...core.Ticket) thread.Head {
	t.Helper()
	return w.suspend(t, w.calls(t, head, false, tickets...), thread.Wait, tickets...)
}

// calls lets the claimed run make a turn with a call for each ticket. batch says that its
// round goes on when all of them are decided, not one by one.
func (w *world) calls(t *testing.T, head thread.Head, batch bool, tickets ...core.Ticket) thread.Head {
	t.Helper()
	turn := thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{ID: "m", Role: core.RoleAssistant}}
	for _, ticket := range tickets {
		turn.Message.ToolCalls = append(turn.Message.ToolCalls, callOf(ticket))
	}
	seq := head.Seq + 1
	head, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitTurn{
		Fence: head.Claim.Fence, From: head.Seq, Seq: seq, Calls: len(tickets), TurnFence: head.Claim.Fence, Batch: batch,
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		return []store.Record{{Name: store.LogName(seq), Fence: head.Claim.Fence, Payload: encoded(t, turn)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// suspend lets the claimed run suspend the calls of tickets, which are those of
// the open turn from the first on, and end its step.
func (w *world) suspend(t *testing.T, head thread.Head, outcome thread.Outcome, tickets ...core.Ticket) thread.Head {
	t.Helper()
	var held []thread.Ticket
	var records []store.Record
	for i, ticket := range tickets {
		id := thread.TicketKey(head.Run.ID, ticket.Suspension.ID)
		kinds := map[core.TicketKind]thread.TicketKind{"": thread.TicketPerson, core.TicketPerson: thread.TicketPerson, core.TicketClient: thread.TicketClient, core.TicketChild: thread.TicketChild, core.TicketTimer: thread.TicketTimer}
		held = append(held, thread.Ticket{Call: uint8(i), Kind: kinds[ticket.Kind], ID: id, WakeAt: ticket.WakeAt, Keep: ticket.Keep})
		records = append(records, store.Record{
			Name: recordname.Suspension(head.Run.ID, head.Run.Base-1, uint8(i), id), Fence: head.Claim.Fence,
			Version: head.Version + 1, Payload: encoded(t, thread.TicketRecord{Ticket: ticket}),
		})
	}
	head, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitStep{
		Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq, Outcome: outcome, Tickets: held,
	}, func(thread.Head, thread.Result) ([]store.Record, error) { return records, nil })
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// waiting is a world whose thread's run waits with tickets, its hints forgotten.
func waiting(t *testing.T, tickets ...core.Ticket) (*world, thread.Head) {
	t.Helper()
	w := newWorld(t)
	w.last = w.submit(t, input("one", ""))
	head := w.waits(t, w.claim(t), tickets...)
	w.queue.Clear()
	return w, head
}

// goesOn lets a decided run store its results and go on.
func (w *world) goesOn(t *testing.T) thread.Head {
	t.Helper()
	head := w.claim(t)
	done := make([]thread.CallStatus, len(head.Run.Calls))
	for i := range done {
		done[i] = thread.CallDone
	}
	last := head.Run.Base + uint64(len(done)) - 1
	head, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitStep{
		Fence: head.Claim.Fence, From: head.Seq, Seq: last, Outcome: thread.Yield, Keep: true, Lease: 30_000, Calls: done,
	}, func(thread.Head, thread.Result) (records []store.Record, err error) {
		for seq := head.Run.Base; seq <= last; seq++ {
			entry := thread.Entry{Run: head.Run.ID, Step: 1, Message: &core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{}}}
			records = append(records, store.Record{Name: store.LogName(seq), Fence: head.Claim.Fence, Payload: encoded(t, entry)})
		}
		return records, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func deciding(target, id string, change ...func(*mailbox.Deciding)) mailbox.Deciding {
	d := mailbox.Deciding{Target: target, User: "ann", Decision: core.Decision{ID: id, Action: core.DecisionResume}}
	for _, c := range change {
		c(&d)
	}
	return d
}

func says(payload string) func(*mailbox.Deciding) {
	return func(d *mailbox.Deciding) { d.Decision.Payload = json.RawMessage(payload) }
}

func cancels(d *mailbox.Deciding) { d.Decision.Action = core.DecisionCancel }

func remembers(d *mailbox.Deciding) {
	d.Decision.Remember, d.Decision.RememberAs = core.RememberThread, core.RememberRule
}

func (w *world) decide(t *testing.T, d mailbox.Deciding) mailbox.Decided {
	t.Helper()
	decided, err := w.Decide(t.Context(), key, d)
	if err != nil {
		t.Fatal(err)
	}
	return decided
}

// stored is the decision that the head's ticket of a call names.
func (w *world) stored(t *testing.T, head thread.Head, call uint8) string {
	t.Helper()
	for _, ticket := range head.Tickets {
		if ticket.Call != call {
			continue
		}
		r, ok, err := w.store.Backend.Get(t.Context(), key, recordname.Decision(head.Run.ID, head.Run.Base-1, call, ticket.Decision))
		if err != nil || !ok {
			t.Fatalf("decision on call %d: found %v, %v", call, ok, err)
		}
		return string(r.Payload)
	}
	return ""
}

func (w *world) head(t *testing.T) thread.Head {
	t.Helper()
	head, err := w.store.Backend.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return head
}
