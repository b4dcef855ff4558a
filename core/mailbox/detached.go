package mailbox

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// tellThread gives the end of a detached child to the thread of its parent, whose run is over: as
// the input of another run of the parent's agent. It has the id that the parent's run would have
// read it under, so that a run that has read it is not followed by another.
//
// A thread that has withdrawn the parent's run from its log, or is deleted, gets nothing.
func (p post) tellThread(ctx context.Context, key core.ThreadKey, child matter) error {
	s := p.s
	head, err := s.Head(ctx, key)
	if err != nil || head.Deleted {
		return err
	}
	run, ok, err := s.reads.runRecord(ctx, key, child.parent.Run)
	if err != nil && core.CodeOf(err) != core.CodeCorrupt { // which no later try can read either
		return err
	}
	if !ok {
		s.log.WarnContext(ctx, "run that has started a child is unknown", "tenant", key.Tenant, "thread", key.Thread, "run", child.parent.Run, "error", err)
		return nil
	}
	if withdrawn, err := s.reads.withdrawn(ctx, key, head, run); withdrawn || err != nil {
		return err
	}
	id := childInput(child.run.ID)
	_, _, err = s.submit(ctx, Submission{
		Thread: key, User: head.Owner, Messages: []core.Message{endMessage(child.run)}, Origin: core.OriginInternal, Opening: Opening{AgentID: run.AgentID},
	}, placing{message: &ids{run: id, dispatch: id}, apart: true, known: &head})
	if errors.Is(err, thread.ErrDeleted) {
		return nil
	}
	return err
}

// withdrawn reports whether a later run has superseded the input of a run, and with it
// everything that the run has said.
func (r reader) withdrawn(ctx context.Context, key core.ThreadKey, head thread.Head, run thread.RunRecord) (bool, error) {
	ranges, err := threadlog.Superseded(ctx, r.store, r.records, key, head.Supersedes, run.FirstSeq)
	return slices.ContainsFunc(ranges, func(of thread.Range) bool { return of.From <= run.FirstSeq && run.FirstSeq <= of.To }), err
}
