package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// resume begins the stream behind the wait that the decisions ended: with
// run_start, and with the turn whose results come next known to the replayer.
//
// All of it happens before the run is claimed for this stream. What has come since
// the wait is in the log or the head by then and is shown from there; what comes
// later the step emits itself. In between lies only the claim, and whoever came
// first with it has left the rest to the follower.
func (f *follower) resume(ctx context.Context, a decisions) error {
	record, ok, err := f.mailbox.Run(ctx, f.key, a.head, f.run, f.dispatch)
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf(core.CodeNotFound, "run %s not found", f.run)
	}
	// Turns before the newest decided one are not shown again: the client has them,
	// or it could not have decided on a call of a later one.
	var turn uint64
	for _, d := range a.decided {
		turn = max(turn, d.Turn)
	}
	if turn == 0 {
		f.begin(record)
		return nil // nothing is known of the calls any more: the run is shown from its start
	}
	before, err := f.before(ctx, a, turn)
	if err != nil {
		return err
	}
	entries, err := store.ReadLog(ctx, f.store, f.records, f.key, turn, turn)
	if err != nil {
		return err
	}
	for _, i := range before.results {
		f.audience.first(resultMark(run.ResultID(f.run, entries[0].Step, i)))
	}
	f.begin(record)
	f.replayer.Pass(entries[0])
	f.next, f.early = turn+1, progress{base: turn + 1, results: len(before.results), tickets: before.tickets}
	if err := f.replay(ctx, a.head); err != nil { // what has come since, before a step adds to it
		return err
	}
	if err := f.showEarly(ctx, a.head); err != nil {
		return err
	}
	f.seen = a.head
	return nil
}

// shownBefore is what of a round had been shown when the run waited: who decided has
// seen it, and a stream that repeats it would show a result twice in one message.
type shownBefore struct {
	results []int           // calls
	tickets map[uint64]bool // by key
}

// before is what had been shown of the turn's round before any of the decisions
// on it: of a new one, what the head had then.
func (f *follower) before(ctx context.Context, a decisions, turn uint64) (shown shownBefore, err error) {
	var all []shownBefore
	if a.first.Exists() && a.first.Run.Base == turn+1 {
		all = append(all, shownIn(a.first))
	}
	for _, d := range a.decided {
		if !d.Duplicate || d.Turn != turn {
			continue
		}
		at, err := f.lastWait(ctx, d)
		if err != nil {
			return shown, err
		}
		all = append(all, at)
	}
	if len(all) == 0 { // nothing is known: the round is shown as a whole
		return shownBefore{tickets: map[uint64]bool{}}, nil
	}
	// The decisions of one request may have met different waits, if a try before has
	// got through with some. What all of them had been shown, every client has seen.
	shown = all[0]
	for _, other := range all[1:] {
		shown.results = slices.DeleteFunc(shown.results, func(i int) bool { return !slices.Contains(other.results, i) })
		for key := range shown.tickets {
			if !other.tickets[key] {
				delete(shown.tickets, key)
			}
		}
	}
	return shown, nil
}

// shownIn is what a head has of its open round. Whoever followed the run was shown
// exactly that, since showEarly shows what the head has, and nothing else.
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

// A client whose connection broke sends its decisions again. They stand already, and
// the run may be long past them: then nothing in the head says what this client had
// been shown when it decided. The round's own records do, one for each time that the
// run came to wait in it, for as long as the run is open.

// roundPage is how many records of open rounds are looked through at a time. All of
// a run's are: the versions in their names are not padded, so that the newest need
// not be the last of the list.
const roundPage = 100

// lastWait is what a client had been shown of the round when the run last waited
// for a decision: what the record says that the round left then. Without one,
// since siblings still ran when the decision came, or since lists lag, it is
// nothing: the round is repeated then, and nothing is left out.
func (f *follower) lastWait(ctx context.Context, d mailbox.Decided) (shown shownBefore, err error) {
	shown.tickets = map[uint64]bool{}
	ticket := thread.TicketKey(d.RunID, d.SuspensionID)
	prefix, after, newest := strings.TrimSuffix(store.RoundName(d.RunID, 0), "0"), "", uint64(0)
	var round thread.RoundRecord
	for {
		page, err := f.store.Records(ctx, f.key, prefix, after, roundPage)
		if err != nil {
			return shown, fmt.Errorf("list rounds of run %s: %w", d.RunID, err)
		}
		for _, record := range page {
			after = record.Name
			version, err := strconv.ParseUint(strings.TrimPrefix(record.Name, prefix), 10, 64)
			if err != nil || version < newest {
				continue // no round's name; or an older wait, which this client has seen past
			}
			var r thread.RoundRecord
			if err := f.records.Decode("round", record.Payload, &r); err != nil {
				return shown, fmt.Errorf("%s: %w", record.Name, err)
			}
			if r.Turn == d.Turn && slices.Contains(r.Waits, ticket) {
				newest, round = version, r
			}
		}
		if len(page) < roundPage {
			break
		}
	}
	shown.results = round.Merged
	for _, key := range round.Waits {
		shown.tickets[key] = true
	}
	return shown, nil
}
