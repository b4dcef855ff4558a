package mailbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Tickets reads what the open run's suspended calls wait with, in call order, and the
// decisions on them that the run has not read yet. store.ErrCorrupt: the record of a ticket
// of the head, or of its decision, is missing.
func (s *Service) Tickets(ctx context.Context, key core.ThreadKey, head thread.Head) ([]core.Ticket, error) {
	return s.reads.tickets(ctx, key, head)
}

// Asked reads the undecided tickets of the open run that ask a person or a client, in call order:
// not those of child runs and timers. store.ErrCorrupt: the record of one is missing.
func (s *Service) Asked(ctx context.Context, key core.ThreadKey, head thread.Head) ([]core.Ticket, error) {
	return s.reads.asked(ctx, key, head)
}

// tickets is [Service.Tickets].
func (r reader) tickets(ctx context.Context, key core.ThreadKey, head thread.Head) ([]core.Ticket, error) {
	held := slices.SortedFunc(slices.Values(head.Tickets), func(a, b thread.Ticket) int { return cmp.Compare(a.Call, b.Call) })
	if len(held) == 0 {
		return nil, nil
	}
	tickets := make([]core.Ticket, len(held))
	read := func(ctx context.Context, i int) (err error) {
		if tickets[i], err = r.ticket(ctx, key, head, held[i]); err == nil {
			tickets[i].Decision, err = r.decisionOn(ctx, key, head, held[i])
		}
		return err
	}
	// Concurrently, since each is a read or two; the first in this goroutine, so that a single
	// ticket, the usual case, starts none. Each writes a separate element.
	group, shared := r.env.Group(ctx)
	for i := 1; i < len(held); i++ {
		group.Go(func(ctx context.Context) error { return read(ctx, i) })
	}
	if err := read(shared, 0); err != nil {
		group.Fail(err) // unless another has failed, which ended this one
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return tickets, nil
}

// asked is [Service.Asked].
func (r reader) asked(ctx context.Context, key core.ThreadKey, head thread.Head) ([]core.Ticket, error) {
	var asked []core.Ticket
	for _, t := range slices.SortedFunc(slices.Values(head.Tickets), func(a, b thread.Ticket) int { return cmp.Compare(a.Call, b.Call) }) {
		if t.Kind == thread.TicketChild || t.Kind == thread.TicketTimer || t.Decision != 0 {
			continue
		}
		ticket, err := r.ticket(ctx, key, head, t)
		if err != nil {
			return nil, err
		}
		asked = append(asked, ticket)
	}
	return asked, nil
}

// ticket reads one of the head's tickets. Its record was stored before the head that names
// it, so that a missing one is damage, not lag. The key in the head is a hash: that the
// record is of the same suspension is checked, not assumed.
func (r reader) ticket(ctx context.Context, key core.ThreadKey, head thread.Head, t thread.Ticket) (core.Ticket, error) {
	stored, err := r.ticketRecord(ctx, key, head, t)
	return stored.Ticket, err
}

// ticketRecord reads the record of a ticket, which says more than the ticket shown to
// clients.
func (r reader) ticketRecord(ctx context.Context, key core.ThreadKey, head thread.Head, t thread.Ticket) (stored thread.TicketRecord, err error) {
	name := recordname.Suspension(head.Run.ID, head.Run.Base-1, t.Call, t.ID)
	record, ok, err := r.store.Get(ctx, key, name)
	if err != nil {
		return stored, fmt.Errorf("read ticket of call %d of run %s: %w", t.Call, head.Run.ID, err)
	}
	if !ok {
		return stored, fmt.Errorf("ticket %s is missing: %w", name, store.ErrCorrupt)
	}
	if err := r.records.Decode("ticket", record.Payload, &stored); err != nil {
		return stored, fmt.Errorf("%s: %w", name, err)
	}
	if thread.TicketKey(head.Run.ID, stored.Suspension.ID) != t.ID {
		return stored, fmt.Errorf("ticket %s is of suspension %q: %w", name, stored.Suspension.ID, store.ErrCorrupt)
	}
	return stored, nil
}

// decisionOn reads the decision on one of the head's tickets; nil: it is not decided. Its
// record was stored before the head that has its key: a missing one is store.ErrCorrupt.
func (r reader) decisionOn(ctx context.Context, key core.ThreadKey, head thread.Head, t thread.Ticket) (*core.Decision, error) {
	if t.Decision == 0 {
		return nil, nil
	}
	name := recordname.Decision(head.Run.ID, head.Run.Base-1, t.Call, t.Decision)
	record, ok, err := r.store.Get(ctx, key, name)
	if err != nil {
		return nil, fmt.Errorf("read decision on call %d of run %s: %w", t.Call, head.Run.ID, err)
	}
	if !ok {
		return nil, fmt.Errorf("decision %s is missing: %w", name, store.ErrCorrupt)
	}
	var stored thread.DecisionRecord
	if err := r.records.Decode("decision", record.Payload, &stored); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &stored.Decision, nil
}
