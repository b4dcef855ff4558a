package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Locate finds the thread of a run; ok is false when no such run was submitted
// by the tenant. The pointer is stored with the write that accepts the run or before
// it, so a run that was accepted is always found; one that is found may not have been,
// which the head says.
func (s *Service) Locate(ctx context.Context, tenant string, run core.ID) (key core.ThreadKey, dispatch core.ID, ok bool, err error) {
	value, ok, err := s.store.Pointer(ctx, tenant, runName(run))
	if err != nil || !ok {
		return key, dispatch, false, err
	}
	p, err := decodePointer(value)
	if err != nil {
		return key, dispatch, false, fmt.Errorf("run %s: %w", run, err)
	}
	return core.ThreadKey{Tenant: tenant, Thread: p.Thread}, p.Dispatch, true, nil
}

// Run reads a run as it stands: the head decides about an open or queued run,
// its record about a finished one, an audit about one that never started. ok is
// false when the thread does not know the run.
//
// head was read before the record, which may be newer: a record is stored before the
// head that covers it, and a refused write may have left one that says too much. So
// of a live run the record gives what the head has not (agent, steps, usage), and
// what tells of an end is taken out unless the head has it.
func (s *Service) Run(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (r core.Run, ok bool, err error) {
	status, live := head.RunStatus(run)
	stored, found, err := s.runRecord(ctx, key, run)
	if err != nil {
		return r, false, err
	}
	r = stored.Run
	if !found {
		if live && run == head.Run.ID {
			dispatch = head.Run.Dispatch // the caller's may be that of an input that the run got later
		}
		if r, err = s.queued(ctx, key, run, dispatch); err != nil {
			return r, false, err
		}
	}
	if live { // what the record says of an end may be of a write that was refused
		r.Status = status
		if status == core.RunDone {
			r.Termination = head.End(&stored)
		} else {
			r.Termination, r.FinishedAt, r.Response = nil, 0, ""
		}
		return r, true, nil
	}
	if found {
		return r, true, nil
	}
	ended, ok, err := s.ended(ctx, key, head, dispatch)
	if err != nil || !ok || ended.Run != run {
		return r, false, err
	}
	r.Status, r.Termination = core.RunDone, neverOpened(ended.Status)
	return r, true, nil
}

// runRecord reads a run's record; ok is false when no step has stored one.
func (s *Service) runRecord(ctx context.Context, key core.ThreadKey, run core.ID) (thread.RunRecord, bool, error) {
	record, ok, err := s.store.Get(ctx, key, store.RunName(run))
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("read run %s: %w", run, err)
		}
		return thread.RunRecord{}, false, err
	}
	r, err := s.records.DecodeRun(record.Payload)
	if err != nil {
		return r, false, fmt.Errorf("run %s: %w", run, err)
	}
	return r, true, nil
}

// queued builds the record of a run that no step has opened, from its input. The
// first revision will do: an edit replaces the messages only.
func (s *Service) queued(ctx context.Context, key core.ThreadKey, run, dispatch core.ID) (core.Run, error) {
	r := core.Run{ID: run, ThreadID: key.Thread, Dispatch: dispatch, Status: core.RunCreated, CreatedAt: createdAt(dispatch)}
	record, ok, err := s.store.Get(ctx, key, store.InputName(dispatch, 0))
	if err != nil || !ok {
		return r, err
	}
	in, err := s.records.DecodeQueued(record.Payload)
	r.AgentID, r.Origin = in.AgentID, in.Origin
	return r, err
}

// accepted reports whether a dispatch of an earlier try got as far as the head,
// and which run reads or read it. waits says that no step has read it yet. A
// record that is there proves nothing alone: the refused write of that try may
// have left it.
func (s *Service) accepted(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (reader core.ID, waits, ok bool, err error) {
	// In the order of what costs nothing: the head, where nearly all is found that a
	// client repeats, then the run's record, then the audits.
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
	for _, id := range ids {
		if _, found, err := s.runRecord(ctx, key, id); found || err != nil {
			return id, false, found, err
		}
	}
	if by, found, err := s.read(ctx, key, head, dispatch); found || err != nil {
		return by, false, found, err
	}
	ended, found, err := s.ended(ctx, key, head, dispatch)
	return ended.Run, false, found, err
}

// read finds the run that read an inbox entry: what the audit says, if the log
// confirms it. A step that was refused has left an audit that names a sequence
// where something else stands, or nothing yet.
func (s *Service) read(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (by core.ID, ok bool, err error) {
	audit, _, ok, err := s.audit(ctx, key, store.ReadName(id))
	if err != nil || !ok || audit.Read > head.Seq {
		return by, false, err
	}
	record, ok, err := s.store.Get(ctx, key, store.LogName(audit.Read))
	if err != nil || !ok {
		return by, false, err
	}
	entry, err := s.records.DecodeEntry(record.Payload)
	if err != nil || entry.Input != id {
		return by, false, err
	}
	return entry.Run, true, nil
}

// ended reads how a dispatch or inbox entry ended that no step read. The audit
// counts when the head has passed the version that it went with, and when the
// entry was not read after all.
func (s *Service) ended(ctx context.Context, key core.ThreadKey, head thread.Head, id core.ID) (a thread.AuditRecord, ok bool, err error) {
	audit, version, ok, err := s.audit(ctx, key, store.EndedName(id))
	if err != nil || !ok || version > head.Version {
		return a, false, err
	}
	if _, listed := head.Queues(id); listed {
		return a, false, nil
	}
	if _, read, err := s.read(ctx, key, head, id); read || err != nil {
		return a, false, err
	}
	return audit, true, nil
}

// audit reads an audit and the version of the head that it went with. It proves
// nothing alone: see read and ended.
func (s *Service) audit(ctx context.Context, key core.ThreadKey, name string) (a thread.AuditRecord, version uint64, ok bool, err error) {
	record, ok, err := s.store.Get(ctx, key, name)
	if err != nil || !ok {
		return a, 0, false, err
	}
	a, err = s.records.DecodeAudit(record.Payload)
	if err != nil {
		return a, 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return a, record.Version, true, nil
}
