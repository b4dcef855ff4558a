package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/store"
)

// A call starts to wait in three moves, in this order despite any crash between
// them:
//
//  1. A gate or its tool asks. That is in memory alone; a crash here runs the gate
//     again, or runs the tool again, which has only asked a question.
//  2. The ticket's record is stored, and then the head that has the ticket. From
//     there on any reader of the head can decide.
//  3. It is announced. To a stream that has ended before, the next reader of the
//     head shows the ticket.
//
// The head has eight places for tickets, and Apply alone assigns them: a step only
// proposes, and the head that comes back is the truth. The same holds for the end
// of the step: its wish to wait does not mean that there is still something to wait
// for.

// tickets make calls of the round wait: they ask for places in the head, and tell of those
// that were given. Between the two a call is asking.
type tickets struct{ round *round }

// suspend makes call t.index wait. The head does not know it yet: the ticket goes
// there with the next write, which is the step's last when nothing else runs. If a
// gate, or byTool the tool itself, asks for something that cannot be waited for,
// that is the call's error: refused is then its outcome, else nil.
func (w *tickets) suspend(ctx context.Context, t *task, s core.TicketRequest, byTool bool) (refused *conclusion, err error) {
	r := w.round
	if s.ID == "" {
		// The count makes the id another one each time, and the same one in every
		// claim: a crash between record and head leaves a record to be replaced.
		s.ID = fmt.Sprintf("%s.%d", strings.ReplaceAll(r.key(t.index), "/", "."), len(t.suspended)+1)
	}
	// Hooks go with the refusal as with any result: their requests count.
	refuse := func(why string) (*conclusion, error) {
		r.holder.warn(ctx, "tool call failed", "call", t.call.ID, "tool", t.call.Name, "error", why)
		return &conclusion{result: synthetic(core.ResultError, "execution failed: "+why), hooks: t.hooks, after: t.after}, nil
	}
	if err := toolcall.CheckTicketRequest(s); err != nil { // a gate's: of a tool Execute has checked it
		return refuse(err.Error())
	}
	if slices.Contains(t.suspended, s.ID) {
		// Granted again it would ask the same question for ever. A gate cannot come
		// here: the engine takes a granted suspension for an Allow.
		return refuse(fmt.Sprintf("the call waits for %q again, which was decided", s.ID))
	}
	k := newTicket(r.holder.id, t.call, s) // with the arguments that will run
	if w.asked(k.ID) {                     // a decision that names it could mean either call
		return refuse(fmt.Sprintf("another call waits under the suspension id %q, which must be its own: left empty, one is made", s.ID))
	}
	k.Call, k.record.Suspended, k.record.Answers = uint8(t.index), t.suspended, t.answers
	k.record.CreatedAt, k.record.ByTool, k.record.After = t.at, byTool, t.after.decision
	k.record.Edited = t.after.arguments != nil
	if !t.hooks.IsZero() {
		k.record.Hooks = &t.hooks
	}
	if !s.WakeAt.IsZero() {
		switch k.WakeAt = s.WakeAt.UnixMilli(); {
		case !byTool:
			return refuse("a gate has asked for a time to wake, which only a tool may")
		case k.WakeAt-r.holder.env.Millis() > core.MaxWait.Milliseconds():
			return refuse(fmt.Sprintf("it waits until %s, at most 366 days are allowed", s.WakeAt.UTC().Format(time.RFC3339)))
		}
		k.WakeAt = max(k.WakeAt, 1) // a time long past is one that has come
		k.Keep, k.record.WakeAt, k.record.Keep = s.Keep, k.WakeAt, s.Keep
	}
	if s.Timeout > 0 { // from now, and not from the write: the record is made before it
		k.Deadline = r.holder.env.Millis() + s.Timeout.Milliseconds()
		k.record.Deadline = k.Deadline
	}
	if k.payload, err = r.holder.records.Encode("ticket", k.record); err != nil {
		return refuse(err.Error())
	}
	if len(k.payload) >= largeResult {
		// A record that the store will never take is found here, where it costs the
		// call its ticket; in a commit it would cost the run. The version is that
		// of the known head: the write that puts the ticket in force has a later
		// one and replaces it.
		record := store.Record{Name: w.name(k), Fence: r.holder.fence(), Version: r.holder.head.Version, Payload: k.payload}
		if err := r.holder.put(ctx, record); errors.Is(err, store.ErrTooLarge) {
			return refuse("what it waits for is too large to be stored")
		} else if err != nil {
			return nil, err
		}
	}
	r.calls[t.index].stage, r.calls[t.index].ticket = asking, k
	return nil, nil
}

// asked reports whether a call waits under a suspension id, which is given in the
// head's form. The id must not be one that its own call waits under.
func (w *tickets) asked(id uint64) bool {
	r := w.round
	return slices.ContainsFunc(r.holder.head.Tickets, func(t thread.Ticket) bool { return t.ID == id }) ||
		r.calls.any(func(c *call) bool { return c.stage == asking && c.ticket.ID == id })
}

// newTicket is the ticket of a suspension, with its defaults filled in.
func newTicket(run core.ID, call core.ToolCall, s core.TicketRequest) *ticket {
	k := &ticket{}
	k.record.Ticket = core.Ticket{Suspension: s.Suspension(call.Name), CallID: call.ID, Tool: call.Name, Arguments: call.Arguments, Mode: s.Mode, Kind: s.Kind}
	if k.record.Mode == "" {
		k.record.Mode = core.ResumeReplay
	}
	if k.record.Kind == "" {
		k.record.Kind = core.TicketPerson
	}
	// The head keeps the kind as a number and knows no others: one that it does not
	// know waits for a person, who sees its kind.
	switch k.record.Kind {
	case core.TicketClient:
		k.Kind = thread.TicketClient
	case core.TicketChild:
		k.Kind = thread.TicketChild
	case core.TicketTimer:
		k.Kind = thread.TicketTimer
	}
	k.ID = thread.TicketKey(run, s.ID)
	return k
}

// name is the name of the ticket's record. It follows from the head alone, so that
// a reader of the head needs no index.
func (w *tickets) name(k *ticket) string {
	return recordname.Suspension(w.round.holder.id, w.round.first-1, k.Call, k.ID)
}
