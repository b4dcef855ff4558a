package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// The state of a thread is stored as a snapshot every few turns, and as patches in the
// records of its log. Each patch leads from one revision to the next; readers see the keys
// that are not the runtime's.

// StateView is the state of a thread at a revision, without the runtime's own keys and the
// keys of single calls (run.Visible).
type StateView struct {
	Revision uint64
	// Run is the run whose values are under "run"; zero: the thread has no run yet.
	Run core.ID
	// Document is {"thread": {KEY: VALUE}, "run": {KEY: VALUE}}.
	Document json.RawMessage
}

// State reads the state of a thread: at a past revision, or its present one for nil. For a
// past one it reads the log backwards to that revision, and then, if this process does not
// have the thread in memory, forwards from the stored snapshot. A revision that is in the
// middle of one record's changes, or has not been reached, is core.CodeNotFound. A document
// of more than 3,000,000 bytes is core.CodeTooLarge.
func (r *Host) State(ctx context.Context, id core.Identity, threadID string, revision *uint64) (StateView, error) {
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return StateView{}, err
	}
	seq, view := head.Seq, StateView{}
	if revision != nil {
		if seq, err = r.reads.seqOf(ctx, key, head, *revision); err != nil {
			return StateView{}, fmt.Errorf("thread %s: %w", threadID, err)
		}
	}
	if view.Run, err = r.reads.runAt(ctx, key, seq); err != nil {
		return StateView{}, err
	}
	now, err := r.stepper.Reader().State(ctx, key, head, seq)
	if err != nil {
		return StateView{}, err
	}
	view.Revision = now.Revision()
	if view.Document, _ = now.Document(history.Visible); len(view.Document) > maxPageBytes {
		return StateView{}, core.Errorf(core.CodeTooLarge, "the state of thread %s has %d bytes, at most %d are shown", threadID, len(view.Document), maxPageBytes)
	}
	return view, nil
}

// runAt returns the run of a record of the log; zero for sequence 0, before the first.
func (r *reader) runAt(ctx context.Context, key core.ThreadKey, seq uint64) (core.ID, error) {
	if seq == 0 {
		return core.ID{}, nil
	}
	entries, err := threadlog.Read(ctx, r.store, r.records, key, seq, seq)
	if err != nil {
		return core.ID{}, err
	}
	return entries[0].Run, nil
}

// seqOf returns the sequence of the record that led the state to a revision; 0: no record
// did, the revision is that of a thread without changes. A run's values at that record
// count, even if a later run started without changing anything.
func (r *reader) seqOf(ctx context.Context, key core.ThreadKey, head thread.Head, revision uint64) (uint64, error) {
	newest := uint64(0)
	for e, err := range threadlog.EntriesBackwards(ctx, r.store, r.records, key, 1, head.Seq) {
		if err != nil {
			return 0, err
		}
		if e.Revision == 0 || len(e.Patch) == 0 {
			continue // the record has changed nothing
		}
		// Going backwards, revisions descend: the first one at or below the wanted revision
		// decides.
		if newest = max(newest, e.Revision); e.Revision > revision {
			continue
		}
		if e.Revision == revision {
			return e.Seq, nil
		}
		if e.Revision == newest { // no change has come that far
			break
		}
		return 0, core.Errorf(core.CodeNotFound, "revision %d not found: a change leads from revision %d past it", revision, e.Revision)
	}
	if revision > newest {
		return 0, core.Errorf(core.CodeNotFound, "revision %d has not been reached, the newest is %d", revision, newest)
	}
	if revision > 0 {
		return 0, core.Errorf(core.CodeNotFound, "revision %d not found: the first change leads past it", revision)
	}
	return 0, nil
}

// StateQuery selects a page of a thread's changes of state.
type StateQuery struct {
	Since uint64 // only changes after this revision; 0: all
	After string // a page's Next; empty: from Since on
	Limit int    // 1 to 200; 0: 50
}

// StateChange is the change that one record of the log made to the document of [StateView].
// A page has them oldest first.
type StateChange struct {
	Revision uint64
	Run      core.ID
	Step     int
	// At is when the record was stored, in unix milliseconds; 0: not known.
	At int64
	// Patch is a JSON Patch (RFC 6902) on the document.
	Patch json.RawMessage
	// NewRun reports that the earlier values under /run end before this change.
	NewRun bool
	// Reverts reports that the change reverts those of superseded records.
	Reverts bool
}

// statePageLooked bounds how many records of the log one page of changes reads.
const statePageLooked = 5000

// StatePatches reads the changes of a thread's state. Applied one after the other to
// {"thread":{},"run":{}}, or to the document at Since, they lead to the present document.
// Changes of hidden keys are omitted, so that revisions may be missing; a page may therefore
// have no changes and still have a Next.
func (r *Host) StatePatches(ctx context.Context, id core.Identity, threadID string, q StateQuery) (page Page[StateChange], err error) {
	bounds, err := MessageQuery{Limit: q.Limit}.complete()
	if err != nil {
		return page, err
	}
	key, head, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return page, err
	}
	at := changed{}
	switch {
	case q.After != "":
		if at, err = parseChanged(q.After); err != nil {
			return page, err
		}
	case q.Since > 0:
		if at.seq, err = r.reads.seqOf(ctx, key, head, q.Since); err != nil {
			return page, fmt.Errorf("thread %s: %w", threadID, err)
		}
		if at.run, err = r.reads.runAt(ctx, key, at.seq); err != nil { // whose values State shows there
			return page, err
		}
	}
	// One page reads at most statePageLooked records, however few of them change the state.
	page.Items = []StateChange{}
	size, last := 0, min(head.Seq, at.seq+statePageLooked)
	for e, err := range threadlog.Entries(ctx, r.reads.store, r.reads.records, key, at.seq+1, last) {
		if err != nil {
			return page, err
		}
		// at moves past every record that the page has read, so that Next continues after
		// the last one even if it changed nothing.
		patch := e.Patch.Only(history.Visible)
		if len(patch) > 0 {
			text, err := core.EncodeJSON(patch)
			if err != nil {
				return page, err
			}
			if size += len(text); len(page.Items) == bounds.Limit || len(page.Items) > 0 && size > maxPageBytes {
				page.Next = at.String()
				return page, nil
			}
			page.Items = append(page.Items, StateChange{
				Revision: e.Revision, Run: e.Run, Step: e.Step, At: e.At, Patch: text, NewRun: e.Run != at.run && !at.run.IsZero(), Reverts: e.Superseded != nil,
			})
			at.run = e.Run
		}
		at.seq = e.Seq
	}
	if last < head.Seq {
		page.Next = at.String()
	}
	return page, nil
}
