package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// reader reads the stored records of threads, for everything else in this package. It writes
// nothing and wakes no thread.
//
// A record proves nothing by itself: a write that was refused may have left it. Its methods
// therefore take the head of the thread, read before, and return only what the head, a run
// record or the log confirms.
// It is copied freely: it holds no state.
type reader struct {
	env     *env.Env // to read several records at the same time
	store   store.Backend
	records thread.Records
	price   func(*core.Run, []core.ModelUse) *core.Cost // see Options.Price; nil: none
}

// head reads a thread's head; the zero Head if there is no such thread.
func (r reader) head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	h, err := r.store.Head(ctx, key)
	if err != nil {
		return h, fmt.Errorf("read head of %s: %w", key, err)
	}
	return h, nil
}

// runRecord reads a run's record; ok is false if no step has stored one. A live run may be
// older or newer than its record: see [reader.run].
func (r reader) runRecord(ctx context.Context, key core.ThreadKey, run core.ID) (thread.RunRecord, bool, error) {
	record, ok, err := r.store.Get(ctx, key, recordname.Run(run))
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("read run %s: %w", run, err)
		}
		return thread.RunRecord{}, false, err
	}
	decoded, err := r.records.DecodeRun(record.Payload)
	if err != nil {
		return decoded, false, fmt.Errorf("run %s: %w", run, err)
	}
	return decoded, true, nil
}

// queuedInput reads one revision of queued input; the zero Queued if it is lost.
func (r reader) queuedInput(ctx context.Context, key core.ThreadKey, dispatch core.ID, revision uint32) (in thread.Queued, err error) {
	record, ok, err := r.store.Get(ctx, key, recordname.Input(dispatch, revision))
	if err != nil || !ok {
		return in, err
	}
	return r.records.DecodeQueued(record.Payload)
}

// leftInput reads input that an attempt has stored whose write of the head was refused or is on
// its way, and the schema that it has. store.ErrConflict: there is none.
func (r reader) leftInput(ctx context.Context, key core.ThreadKey, name string) (in thread.Queued, schema uint16, err error) {
	stored, ok, err := r.store.Get(ctx, key, name)
	if err == nil && !ok {
		err = fmt.Errorf("input %s of thread %s: %w", name, key, store.ErrConflict)
	}
	if err == nil {
		in, err = r.records.DecodeQueued(stored.Payload)
	}
	if err == nil {
		schema, err = r.records.Schema(stored.Payload)
	}
	if err != nil {
		return in, 0, fmt.Errorf("look at stored input: %w", err)
	}
	return in, schema, nil
}

// accepted reports whether a dispatch of an earlier attempt got as far as the head, and
// which run reads its input, or has read it. waits means that no step has read it yet. A
// record of the dispatch alone proves nothing: the refused write of that attempt may have
// left it.
// by is zero and ok is false if the head never had it, as far as is still known.
func (r reader) accepted(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (by core.ID, waits, ok bool, err error) {
	// The cheapest first: the head, which has nearly everything that a client repeats,
	// then the run's record, then the audits.
	ids := []core.ID{run, dispatch} // steered input that became a run has its own id
	for _, id := range ids {
		if _, live := head.RunStatus(id); live {
			return id, true, true, nil
		}
	}
	for _, e := range head.Inbox { // steered to the open run
		if e.ID == dispatch {
			return head.Run.ID, true, true, nil
		}
	}
	for _, d := range head.Pending { // steered to a run that ended before it read it: kept for the next
		for _, e := range d.Rest {
			if e.ID == dispatch {
				return d.Run, true, true, nil
			}
		}
	}
	if run == dispatch {
		ids = ids[:1]
	}
	for _, id := range ids {
		if _, found, err := r.runRecord(ctx, key, id); found || err != nil {
			return id, false, found, err
		}
	}
	if by, found, err := r.readBy(ctx, key, head, dispatch); found || err != nil {
		return by, false, found, err
	}
	ended, found, err := r.endedUnread(ctx, key, head, dispatch)
	return ended.Run, false, found, err
}

// readBy finds the run that read an inbox entry: the one that the audit names, if the log
// confirms it. A step that was refused may have left an audit whose sequence has another
// record in the log, or none yet.
// ok is false if no step of the visible log has read it.
func (r reader) readBy(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (by core.ID, ok bool, err error) {
	audit, _, ok, err := r.audit(ctx, key, recordname.Read(id))
	if !ok || audit.Read > head.Seq {
		return by, false, err
	}
	record, ok, err := r.store.Get(ctx, key, store.LogName(audit.Read))
	if err != nil || !ok {
		return by, false, err
	}
	entry, err := r.records.DecodeEntry(record.Payload)
	if err != nil || entry.Input != id {
		return by, false, err
	}
	return entry.Run, true, nil
}

// endedUnread reads how a dispatch or inbox entry ended that no step read. The audit counts
// only if the head has reached the version that the audit was written with, no longer
// queues the entry, and the entry was not read after all.
// ok is false for an entry that waits, was read, or never was in the head.
func (r reader) endedUnread(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (a thread.AuditRecord, ok bool, err error) {
	audit, version, ok, err := r.audit(ctx, key, recordname.Ended(id))
	if !ok || version > head.Version {
		return a, false, err
	}
	if _, listed := head.Queues(id); listed {
		return a, false, nil
	}
	if _, read, err := r.readBy(ctx, key, head, id); read || err != nil {
		return a, false, err
	}
	return audit, true, nil
}

// audit reads an audit and the version of the head that it was written with. It proves
// nothing by itself: see readBy and endedUnread.
// ok is false if it does not exist.
func (r reader) audit(ctx context.Context, key core.ThreadKey, name string) (a thread.AuditRecord, version uint64, ok bool, err error) {
	record, ok, err := r.store.Get(ctx, key, name)
	if err != nil || !ok {
		return a, 0, false, err
	}
	a, err = r.records.DecodeAudit(record.Payload)
	if err != nil {
		return a, 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return a, record.Version, true, nil
}

// How many log records lastOf reads at a time: at first, and at most.
const (
	firstLook = 32
	maxLook   = 1024
)

// lastOf finds the newest log entry at or before a sequence for which is returns true. It
// reads pages of growing size, since what is looked for is seldom far from the end.
func (r reader) lastOf(ctx context.Context, key core.ThreadKey, last uint64, is func(*thread.Entry) bool) (found threadlog.Entry, ok bool, err error) {
	for size := uint64(firstLook); last > 0; size = min(2*size, maxLook) {
		from := last - min(size, last) + 1
		for e, err := range threadlog.EntriesBackwards(ctx, r.store, r.records, key, from, last) {
			if err != nil || is(&e.Entry) {
				return e, err == nil, err
			}
		}
		last = from - 1
	}
	return found, false, nil
}
