package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// How a stream that starts with decisions finds out what its client was shown before.

// resume starts the stream after the wait that the decisions ended: with run_start, and with
// the turn whose results come next known to the replayer.
//
// All of it precedes the claim for this stream. Everything since the wait is in the log or the
// head by then and is shown from there; the step itself emits later events. Only the claim lies
// in between, and a worker that claims first leaves the rest for the follower.
func (s *streams) resume(ctx context.Context, f *follower, d decisions) error {
	record, ok, err := f.source.Run(ctx, d.head)
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf(core.CodeNotFound, "run %s not found", f.stream.run)
	}
	// Turns before the newest decided one are not shown again: the client has them,
	// or it could not have decided on a call of a later one.
	var turn uint64
	for i := range d.waits {
		one := &d.waits[i]
		if one.Turn == 0 && d.asked != nil && one.SuspensionID != "" {
			if err := s.reads.findTurn(ctx, f.key, one); err != nil {
				return err
			}
		}
		turn = max(turn, one.Turn)
	}
	if turn == 0 {
		f.stream.begin(record)
		return nil // the calls are no longer known: the run is shown from its start
	}
	before, err := s.reads.readShown(ctx, f.key, d, turn)
	if err != nil {
		return err
	}
	entry, err := entryAt(ctx, f.source, turn)
	if err != nil {
		return err
	}
	f.stream.resume(record, turn, entry, before)
	if err := f.replay(ctx, d.head); err != nil { // what has come since, before a step adds to it
		return err
	}
	if err := f.showOpen(ctx, d.head); err != nil {
		return err
	}
	f.seen = d.head
	return nil
}

// shownBefore is what of a round was shown when the run waited. The client that decided
// has seen it: a stream that repeats it would show a result twice in one message.
type shownBefore struct {
	results []int           // calls, by index
	tickets map[uint64]bool // by thread.TicketKey
}

// readShown returns the part of the turn's round that was visible before any of the decisions
// on it. For a new decision that is the state of the head at that time.
func (r *reader) readShown(ctx context.Context, key core.ThreadKey, d decisions, turn uint64) (shown shownBefore, err error) {
	var all []shownBefore
	if d.first.Exists() && d.first.Run.Base == turn+1 {
		all = append(all, shownIn(d.first))
	}
	for _, one := range d.waits {
		if !one.Duplicate || one.Turn != turn {
			continue
		}
		at, err := r.lastWait(ctx, key, one)
		if err != nil {
			return shown, err
		}
		all = append(all, at)
	}
	if len(all) == 0 { // nothing is known: the whole round is shown
		return shownBefore{tickets: map[uint64]bool{}}, nil
	}
	// The decisions of one request may have met different waits, if an earlier attempt took
	// some of them. Every client has seen the calls that were visible at all of the waits.
	shown = all[0]
	for _, other := range all[1:] {
		shown.results = slices.DeleteFunc(shown.results, func(i int) bool { return !slices.Contains(other.results, i) })
		for ticket := range shown.tickets {
			if !other.tickets[ticket] {
				delete(shown.tickets, ticket)
			}
		}
	}
	return shown, nil
}

// shownIn is what a head has of its open round: exactly what a follower of the run was
// shown, by follower.showOpen.
func shownIn(head thread.Head) shownBefore {
	shown := shownBefore{tickets: map[uint64]bool{}}
	for i, status := range head.Run.Calls {
		if status == thread.CallDone {
			shown.results = append(shown.results, i)
		}
	}
	for _, t := range head.Tickets {
		shown.tickets[t.ID] = true
	}
	return shown
}

// roundPage is how many records of open rounds are read at a time. All rounds of a run
// are read: the versions in their names are not padded, so that the newest need not be the
// last in a list.
const roundPage = 100

// lastWait returns what a client was shown of a round when the run last waited for a
// decision. A client whose connection broke sends its decisions again, when the run may be
// long past them and the head says nothing of what the client was shown. The round's
// records do: one for each time that the run waited in the round, kept as long as the run
// is open. Without a record, because siblings still ran when the decision arrived, or
// because lists lag, lastWait returns nothing: the round is repeated, and nothing is
// missing.
func (r *reader) lastWait(ctx context.Context, key core.ThreadKey, d mailbox.Decided) (shown shownBefore, err error) {
	round, err := r.lastRound(ctx, key, d)
	if err != nil {
		return shown, err
	}
	shown.results, shown.tickets = round.Merged, map[uint64]bool{}
	for _, ticket := range round.Waits {
		shown.tickets[ticket] = true
	}
	return shown, nil
}

// findTurn fills in the turn of a call that waited for a child run, and no longer does: a client
// repeats its decision on a call of that child run. It stays 0 if no record has it, since the run
// is over. The stream then shows the run from its start.
func (r *reader) findTurn(ctx context.Context, key core.ThreadKey, d *mailbox.Decided) error {
	round, err := r.lastRound(ctx, key, *d)
	d.Turn = round.Turn
	return err
}

// lastRound returns the record of the round when the run last waited for a decision; zero: there
// is none. A decision without a turn is on a call of any.
func (r *reader) lastRound(ctx context.Context, key core.ThreadKey, d mailbox.Decided) (round thread.RoundRecord, err error) {
	ticket := thread.TicketKey(d.RunID, d.SuspensionID)
	prefix, after, newest := strings.TrimSuffix(recordname.Round(d.RunID, 0), "0"), "", uint64(0)
	for {
		page, err := r.store.Records(ctx, key, prefix, after, roundPage)
		if err != nil {
			return round, fmt.Errorf("list rounds of run %s: %w", d.RunID, err)
		}
		for _, record := range page {
			after = record.Name
			version, err := strconv.ParseUint(strings.TrimPrefix(record.Name, prefix), 10, 64)
			if err != nil || version < newest {
				continue // not a round; or an earlier wait, which this client has seen past
			}
			var one thread.RoundRecord
			if err := r.records.Decode("round", record.Payload, &one); err != nil {
				return round, fmt.Errorf("%s: %w", record.Name, err)
			}
			if (d.Turn == 0 || one.Turn == d.Turn) && slices.Contains(one.Waits, ticket) {
				newest, round = version, one
			}
		}
		if len(page) < roundPage {
			return round, nil
		}
	}
}
