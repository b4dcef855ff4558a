package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// EventQuery selects a page of a run's events.
type EventQuery struct {
	After string // events strictly after the one with this Position, a page's Next; empty: from the first
	Limit int    // 1 to 200; 0: 50
}

// Committed reads the committed events of a run that have a position, oldest first, as a late stream
// shows them: the text of each block in one event. It omits events that exist live only,
// and events that a stream repeats without a position (a snapshot of the state, a ticket).
// An event whose position lies after the query's is returned whole, even if the reader has
// received the start of its text.
//
// A page costs the run's records from its first, for every value of After: positions are not
// indexed.
func (r *Host) Committed(ctx context.Context, id core.Identity, runID core.ID, q EventQuery) (page Page[core.Event], err error) {
	bounds, err := MessageQuery{Limit: q.Limit}.complete()
	if err != nil {
		return page, err
	}
	var after position.Position // zero: before all events
	if q.After != "" {
		if after, err = position.Parse(q.After); err != nil || after.Run != runID {
			return page, core.Errorf(core.CodeInvalid, "after %q is not the id of an event of run %s", core.Excerpt(q.After), runID)
		}
	}
	key, head, record, err := r.reads.runRecord(ctx, id, runID)
	if err != nil {
		return page, err
	}
	// The replay starts at the run's first record: an event's position is only known when
	// the records before it were replayed.
	c := committed{after: after, limit: bounds.Limit, page: Page[core.Event]{Items: []core.Event{}}}
	err = r.reads.replayCommitted(ctx, key, head, record, &c)
	if c.page.Next != "" { // the error is errFull
		err = nil
	}
	if err != nil {
		return page, fmt.Errorf("events of run %s: %w", runID, err)
	}
	return c.page, nil
}

// replayCommitted replays the records of a run that a head covers, and its end if the run
// has ended or waits. errFull ends it early when the page is full.
func (r *reader) replayCommitted(ctx context.Context, key core.ThreadKey, head thread.Head, record core.Run, c *committed) error {
	replayer := history.NewReplayer(record, c.emit)
	if record.FirstSeq != 0 {
		for e, err := range threadlog.Entries(ctx, r.store, r.records, key, record.FirstSeq, head.Seq) {
			if err != nil {
				return err
			}
			if e.Run != record.ID {
				break
			}
			if err := replayer.Add(e.Entry); err != nil {
				return err
			}
		}
	}
	// A run that waits for a person has all that it will have until a decision.
	if ends(record, head) {
		return replayer.Finish(record)
	}
	return replayer.Flush()
}

// errFull ends a replay whose page is full.
var errFull = core.Errorf(core.CodeInternal, "the page is full")

// committed fills a page of events.
type committed struct {
	after position.Position // of the last event that the reader has; zero: none
	limit int
	size  int
	page  Page[core.Event]
}

// emit is the replay's run.Sink. Events without a position are omitted.
func (c *committed) emit(e core.Event) error {
	at, err := position.Parse(e.Position)
	if err != nil || c.after != (position.Position{}) && at.Compare(c.after) <= 0 {
		return nil
	}
	const around = 256 // ids and times
	// Only the fields of the event that can be large; the JSON of the rest is bounded.
	size := around + len(e.Delta) + len(e.Arguments) + len(e.Result) + len(e.Patch) + len(e.Response) + len(e.EncryptedValue)
	if len(c.page.Items) == c.limit || len(c.page.Items) > 0 && c.size+size > maxPageBytes {
		c.page.Next = c.page.Items[len(c.page.Items)-1].Position
		return errFull
	}
	c.page.Items, c.size = append(c.page.Items, e), c.size+size
	return nil
}
