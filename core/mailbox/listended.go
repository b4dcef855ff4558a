package mailbox

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// addEnded adds ended entries, from the records whose names begin with a prefix; full reports
// that the page is full, and has its Next.
//
// The page continues after the record named by the query, if that has the prefix. Records
// that say nothing of an ended dispatch are passed over, so that several reads may be
// needed to fill a page.
func (l *lister) addEnded(ctx context.Context, prefix string) (full bool, err error) {
	after := ""
	if strings.HasPrefix(l.query.After, prefix) {
		after = l.query.After
	}
	for {
		if len(l.page.Dispatches) >= l.query.Limit || l.scanned >= scanLimit {
			l.page.Next = cmp.Or(after, prefix)
			return true, nil
		}
		want := l.query.Limit - len(l.page.Dispatches)
		page, err := l.reads.store.Records(ctx, l.key, prefix, after, want)
		if err != nil {
			return false, fmt.Errorf("list records of %s: %w", l.key, err)
		}
		for _, record := range page {
			d, ok, err := l.endedBy(ctx, record)
			if err != nil {
				return false, err
			}
			if after = record.Name; ok {
				l.add(d)
			}
		}
		if l.scanned += len(page); len(page) < want {
			return false, nil
		}
	}
}

// endedBy reads what a record says of a dispatch that has ended; ok is false if it says
// nothing, or nothing that counts.
func (l *lister) endedBy(ctx context.Context, record store.Record) (d core.Dispatch, ok bool, err error) {
	if strings.HasPrefix(record.Name, runRecords) {
		return l.endedRun(record)
	}
	return l.endedUnopened(ctx, record)
}

// endedRun is a run that a step has opened. One that the head has is live, and one
// that is not done is newer than the head.
func (l *lister) endedRun(record store.Record) (d core.Dispatch, ok bool, err error) {
	r, err := l.reads.records.DecodeRun(record.Payload)
	if err != nil {
		return d, false, fmt.Errorf("%s: %w", record.Name, err)
	}
	if _, live := l.head.RunStatus(r.ID); live || r.Status != core.RunDone {
		return d, false, nil
	}
	d = core.Dispatch{
		ID: r.Dispatch, RunID: r.ID, Kind: core.DispatchRun, Status: core.DispatchAcked, RunStatus: r.Status, AgentID: r.AgentID,
		Termination: r.Termination, CreatedAt: r.CreatedAt, CompletedAt: r.FinishedAt,
	}
	switch {
	case thread.ReasonDeadLetter.Is(r.Termination):
		d.Status = core.DispatchDeadLetter
	case thread.ReasonSuperseded.Is(r.Termination):
		d.Status = core.DispatchSuperseded
	}
	return d, true, nil
}

// endedUnopened is a dispatch that no step has opened, or input that went to an inbox,
// if what its audit says is confirmed.
// The first revision of its input tells whether it would have opened a run: input that was
// steered has the id of another run in its audit.
func (l *lister) endedUnopened(ctx context.Context, record store.Record) (d core.Dispatch, ok bool, err error) {
	id, which, err := auditPlace(record.Name)
	if err != nil {
		return d, false, err
	}
	d = core.Dispatch{ID: id, CreatedAt: createdAt(id)}
	if which == "read" {
		d.Kind, d.Status = core.DispatchInput, core.DispatchAcked
		d.RunID, ok, err = l.reads.readBy(ctx, l.key, l.head, id)
		return d, ok, err
	}
	audit, ok, err := l.reads.endedUnread(ctx, l.key, l.head, id)
	if !ok {
		return d, false, err
	}
	d.Kind, d.Status, d.RunID = core.DispatchInput, audit.Status, audit.Run
	input, found, err := l.reads.store.Get(ctx, l.key, recordname.Input(id, 0))
	if err != nil || !found {
		return d, err == nil, err
	}
	in, err := l.reads.records.DecodeQueued(input.Payload)
	if err != nil {
		return d, false, fmt.Errorf("queued input %s: %w", id, err)
	}
	d.AgentID = in.AgentID
	if in.Run == audit.Run { // else it was for the inbox of another run than it would have opened
		d.Kind, d.RunStatus = core.DispatchRun, core.RunDone
		d.Termination = neverOpened(audit.Status)
	}
	return d, true, nil
}

// auditPlace reads from an audit's name which entry it is about, and whether that was read or
// ended.
func auditPlace(name string) (id core.ID, which string, err error) {
	parts := strings.Split(name, "#") // A, id, read or ended
	if len(parts) == 3 {
		if id, err = core.ParseID(parts[1]); err == nil {
			return id, parts[2], nil
		}
	}
	return id, "", fmt.Errorf("audit %s: %w", core.Excerpt(name), store.ErrCorrupt)
}
