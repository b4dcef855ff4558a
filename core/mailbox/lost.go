package mailbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A write without a response may have been applied, and others may have written since:
// the commit id is hidden then, and what the write was about has perhaps left the head.
// A commit that holds no claim therefore chooses its target once, and where the head has
// it no more, looks up what became of it: what the write was to bring about is done,
// whoever did it; anything else is not found.

// mine reports whether the head shows that a try of this commit was applied. Writes of
// others hide its commit id, but for a holder's and for the one that took the claim that
// stands, which are kept apart.
func (c *commit) mine(head *thread.Head) bool {
	return head.CommitID == c.id || c.holder && head.HolderCommitID == c.id || c.plan.result.Claimed && head.TakenBy(c.id)
}

// cancelled reports whether a run that the head has no more was cancelled. dispatch is
// the one that brought it.
func (s *Service) cancelled(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (bool, error) {
	r, ok, err := s.Run(ctx, key, head, run, dispatch)
	if err != nil || !ok || r.Status != core.RunDone || r.Termination == nil {
		return false, err
	}
	return r.Termination.Type == core.TerminationCancelled, nil
}

// retracted reports whether input that the head has no more ended unread.
func (s *Service) retracted(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (bool, error) {
	ended, ok, err := s.ended(ctx, key, head, id)
	if err != nil || !ok || ended.Status != core.DispatchCancelled || head.Open() && head.Run.Dispatch == id {
		return false, err
	}
	for _, run := range []core.ID{ended.Run, id} { // a refused try has left the audit, and a worker has opened the run
		if r, opened, err := s.runRecord(ctx, key, run); err != nil || opened && r.Dispatch == id {
			return false, err
		}
	}
	return true, nil
}

// readAs reports whether input that the head queues no more was read as the messages say:
// at the revision that has them, or at a later one, whose edit counts as having come behind
// this one. run is the one that a dispatch of this id brings.
func (s *Service) readAs(ctx context.Context, key core.ThreadKey, head thread.Head, id, run core.ID, edit thread.Edit, messages []core.Message) (bool, error) {
	if head.Open() && head.Run.Dispatch == id { // the head keeps the revision as long as the run is open
		return head.Run.Revision >= edit.Revision, nil
	}
	at, err := s.readAt(ctx, key, head, id, run)
	if err != nil || at == 0 {
		return false, err
	}
	entries, err := store.ReadLog(ctx, s.store, s.records, key, at, min(head.Seq, at+uint64(len(messages))))
	if err != nil {
		return false, err
	}
	first := slices.IndexFunc(entries, func(e thread.Entry) bool { return e.Input == id }) // behind what it supersedes
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
// opened; 0: it was not.
func (s *Service) readAt(ctx context.Context, key core.ThreadKey, head thread.Head, id, run core.ID) (uint64, error) {
	if _, ok, err := s.read(ctx, key, head, id); err != nil {
		return 0, err
	} else if ok {
		audit, _, _, err := s.audit(ctx, key, store.ReadName(id))
		return audit.Read, err
	}
	for _, opened := range []core.ID{run, id} { // steered input that became a run has its own id
		record, ok, err := s.runRecord(ctx, key, opened)
		if err != nil {
			return 0, err
		}
		if ok && record.Dispatch == id && record.FirstSeq <= head.Seq {
			return record.FirstSeq, nil
		}
	}
	return 0, nil
}

func sameContent(a, b []core.Block) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	two, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, two)
}

// acceptedBefore reports whether the input of the submission has been in the head: its run
// may have ended since, and the head remembers the newest requests alone.
func (u *submission) acceptedBefore(ctx context.Context, head thread.Head) (bool, error) {
	_, _, ok, err := u.accepted(ctx, u.Thread, head, u.run, u.dispatch)
	return ok, err
}

// stands reports whether the stored revision of an input is this very record: revisions
// are never overwritten, so that no other edit has taken it.
func (s *Service) stands(ctx context.Context, key core.ThreadKey, record store.Record) (bool, error) {
	stored, ok, err := s.store.Get(ctx, key, record.Name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", record.Name, err)
	}
	return ok && bytes.Equal(stored.Payload, record.Payload), nil
}
