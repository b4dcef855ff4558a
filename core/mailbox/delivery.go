package mailbox

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// delivery is what one worker does for the outbox of a thread, in one call of [Service.Deliver].
// Others may do the same concurrently. It is one goroutine's.
type delivery struct {
	s       *Service
	key     core.ThreadKey
	head    thread.Head // the newest that is known
	claimed thread.Head
	// seen is the outbox that the worker began with. An entry that it has tried has the Next that
	// it wanted to give it.
	seen thread.Outbox
	// wrote means that it was this worker's write that cleared an entry, or put it off.
	wrote bool
}

// try delivers an entry of seen, if it is due and others have not delivered it or put it off since.
// The error is that of a head that could not be written, or that of ctx.
func (d *delivery) try(ctx context.Context, seen *thread.OutboxEntry) error {
	e, ok := entryOf(d.head.Outbox, *seen)
	mine := e.Announces() && announcedSince(&d.claimed, e)
	if !ok || !e.Delivers() || e.Next > d.s.env.Millis()+skew && !mine {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e.Announces() && !mine {
		begun, err := d.begin(ctx, e)
		if err != nil || !begun {
			return err
		}
		e, _ = entryOf(d.head.Outbox, e)
	}
	var change thread.Delivered
	var records build // that the write puts
	if e.Kind == thread.OutboxMessage {
		change, records = post{d.s, d.key, d.head.Owner}.deliver(ctx, d.head, e)
	} else {
		change = d.s.deliver(ctx, d.key, d.head, e)
	}
	next, result, err := d.s.Commit(context.WithoutCancel(ctx), d.key, d.head, change, records)
	if err != nil {
		return err
	}
	d.head, seen.Next = next, change.Next
	d.wrote = d.wrote || !result.Duplicate
	return nil
}

// begin takes an announcement that another process has left, for as long as a publisher
// has: the sweep's hint and another one may bring two workers concurrently, and a receiver should not
// receive everything twice. A parent knows earlier notices at no cost.
func (d *delivery) begin(ctx context.Context, e thread.OutboxEntry) (begun bool, err error) {
	next, result, err := d.s.Commit(ctx, d.key, d.head, thread.Delivered{
		ID: e.ID, Kind: e.Kind, Next: d.s.env.Millis() + announceWithin.Milliseconds(), Was: e.Next,
	}, nil)
	d.head = next
	return !result.Duplicate, err
}

// hintForRest sends the hint for the first of the entries that are left. The hint that brought the
// worker is used up, and its own writes send none. One hint is enough for all of them, and for all
// workers: who comes by it delivers what is due then, and sends the next one.
//
// Two workers that have both written send one each, also for an entry that the other has put off:
// its hint may be for another one, which this worker has put off since. What was announced or begun
// meanwhile does not count, since it may be delivered before its time.
func (d *delivery) hintForRest(ctx context.Context) {
	var first thread.OutboxEntry
	for _, e := range d.head.Outbox {
		seen, ok := entryOf(d.seen, e)
		others := seen.Next != e.Next
		if !ok || !e.Delivers() || others && e.Announces() {
			continue
		}
		if first.ID.IsZero() || e.Next < first.Next {
			first = e
		}
	}
	if first.ID.IsZero() || first.Next-d.s.env.Millis() > hintWithin.Milliseconds() {
		return
	}
	d.s.wakes.afterWrite(ctx, d.key, d.head, &thread.Hint{At: first.Next}, 0, point.Continue)
}

// entryOf returns the entry of an outbox with the id and kind of another; false: it has none.
func entryOf(o thread.Outbox, of thread.OutboxEntry) (thread.OutboxEntry, bool) {
	i := slices.IndexFunc(o, func(e thread.OutboxEntry) bool { return e.ID == of.ID && e.Kind == of.Kind })
	if i < 0 {
		return thread.OutboxEntry{}, false
	}
	return o[i], true
}
