package mailbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// A write whose response was lost may have been applied, and others may have written since:
// its commit id is hidden then, and its target may have left the head. A commit that
// holds no claim therefore chooses its target once for all attempts. If the head no longer
// has the target, the functions of this file look up its outcome. If the goal of the write is
// reached, even by another write, the write counts as done. Any other outcome is not found.

// mine reports whether the head shows that an attempt of this commit was applied. Writes of
// others hide its commit id, except that of the claim's holder and that of the write that
// made the current claim, which the head keeps apart.
func (c *commit) mine(head *thread.Head) bool {
	return head.CommitID == c.id || head.HolderCommitID == c.id || head.TakenBy(c.id)
}

// cancelled reports whether a run that the head no longer has was cancelled. dispatch is
// the one that brought it.
// So a cancel that was applied, and that others hide, is not reported as not found. A run
// that someone else cancelled counts as well: it has ended as it should.
func (r reader) cancelled(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (bool, error) {
	got, _, err := r.run(ctx, key, head, run, dispatch)
	if got.Termination == nil { // it is not over, or not known
		return false, err
	}
	return got.Termination.Type == core.TerminationCancelled, err
}

// retracted reports whether input that the head no longer has ended unread.
// An audit that it was cancelled is not enough: the head may have opened the input's run
// after the write that left the audit was refused.
func (r reader) retracted(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (bool, error) {
	ended, ok, err := r.endedUnread(ctx, key, head, id)
	if !ok || ended.Status != core.DispatchCancelled || head.Run.Dispatch == id {
		return false, err
	}
	for _, run := range []core.ID{ended.Run, id} { // a refused attempt has left the audit, and a worker has opened the run
		if record, _, err := r.runRecord(ctx, key, run); err != nil || record.Dispatch == id {
			return false, err
		}
	}
	return true, nil
}

// readAs reports whether input that the head no longer queues was read as the messages say:
// at the revision that has them, or at a later one, whose edit counts as made after this
// one. run is the one that a dispatch of this id brings.
func (r reader) readAs(ctx context.Context, key core.ThreadKey, head thread.Head, id, run core.ID, edit thread.Edit, messages []core.Message) (bool, error) {
	if head.Run.Dispatch == id { // the head keeps the revision as long as the run is open
		return head.Run.Revision >= edit.Revision, nil
	}
	at, err := r.readAt(ctx, key, head, id, run)
	if at == 0 { // it was not read, or that is not known
		return false, err
	}
	entries, err := threadlog.Read(ctx, r.store, r.records, key, at, min(head.Seq, at+uint64(len(messages))))
	if err != nil {
		return false, err
	}
	// One record more than there are messages is read: the record that supersedes comes
	// first.
	first := slices.IndexFunc(entries, func(e thread.Entry) bool { return e.Input == id }) // after what it supersedes
	if first < 0 || len(entries)-first < len(messages) {
		return false, nil
	}
	for i := range messages {
		said := entries[first+i].Message
		if said == nil || entries[first+i].Input != id || !sameContent(said.Content, messages[i].Content) {
			return false, nil
		}
	}
	return true, nil
}

// readAt is the sequence at which input was read, or the first record of the run that it
// opened; 0: it was not read.
func (r reader) readAt(ctx context.Context, key core.ThreadKey, head thread.Head, id, run core.ID) (uint64, error) {
	if _, ok, err := r.readBy(ctx, key, head, id); err != nil {
		return 0, err
	} else if ok {
		audit, _, _, err := r.audit(ctx, key, recordname.Read(id))
		return audit.Read, err
	}
	for _, opened := range []core.ID{run, id} { // steered input that became a run has its own id
		record, _, err := r.runRecord(ctx, key, opened)
		if err != nil {
			return 0, err
		}
		if record.Dispatch == id && record.FirstSeq <= head.Seq {
			return record.FirstSeq, nil
		}
	}
	return 0, nil
}

// sameContent compares contents as they are stored.
// The log has the content after a round trip through JSON, and the request has not.
func sameContent(a, b []core.Block) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}

// has reports whether this very record is stored. It is for revisions of an input, which
// are never overwritten: if it is, no other edit has that revision.
func (r reader) has(ctx context.Context, key core.ThreadKey, record store.Record) (bool, error) {
	stored, _, err := r.store.Get(ctx, key, record.Name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", record.Name, err)
	}
	return bytes.Equal(stored.Payload, record.Payload), nil
}
