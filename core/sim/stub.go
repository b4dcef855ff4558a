package sim

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

var errStopping = errors.New("stopping")

// stub steps runs without models: until the stepper is there.
type stub struct {
	*mailbox.Service
	h       *host
	records thread.Records
}

func (s *stub) WorkBatch(ctx context.Context, hints []core.WakeUp) []error {
	errs := make([]error, len(hints))
	group, shared := s.h.env().Group(ctx)
	for i, hint := range hints {
		group.Go(func(context.Context) error {
			errs[i] = s.work(shared, hint)
			return nil
		})
	}
	_ = group.Wait()
	return errs
}

func (s *stub) WorkLocal(ctx context.Context, hint core.WakeUp) error { return s.work(ctx, hint) }

func (s *stub) Sweep(ctx context.Context) error { _, err := s.Service.Sweep(ctx); return err }

func (s *stub) Stream(ctx context.Context, sub mailbox.Submission, accepted func(mailbox.Receipt)) error {
	r, head, claimed, err := s.SubmitAndClaim(ctx, sub)
	if err != nil {
		return err
	}
	accepted(r)
	if claimed {
		s.step(ctx, sub.Thread, head)
	}
	return nil
}

func (s *stub) work(ctx context.Context, hint core.WakeUp) error {
	head, claimed, err := s.Claim(ctx, hint, true)
	if err != nil || !claimed {
		return err
	}
	s.step(ctx, hint.Key(), head)
	return nil
}

func (s *stub) step(ctx context.Context, key core.ThreadKey, head thread.Head) {
	fence := head.Claim.Fence
	if head.Run.Status == thread.Closing {
		_, _, _ = s.Commit(ctx, key, head, thread.CommitClose{Fence: fence, From: head.Seq, Seq: head.Seq}, s.record(head, head.Run.Reason.Termination()))
		return
	}
	type in struct {
		id  core.ID
		rev uint32
	}
	ins := []in{{head.Run.Dispatch, head.Run.Revision}}
	var refs []thread.InboxRef
	seq := head.Seq
	for i, e := range head.Inbox {
		ins = append(ins, in{e.ID, e.Revision})
		refs = append(refs, thread.InboxRef{ID: e.ID, Revision: e.Revision, Seq: seq + uint64(i) + 2})
	}
	var records []store.Record
	for _, i := range ins {
		r, ok, err := s.h.engineStore().Get(ctx, key, store.InputName(i.id, i.rev))
		if err != nil || !ok {
			_, _, _ = s.Commit(ctx, key, head, thread.Nack{Fence: fence}, nil)
			return
		}
		q, err := s.records.DecodeQueued(r.Payload)
		if err != nil {
			s.h.world.violate("%v", err)
			return
		}
		seq++
		payload, _ := s.records.EncodeEntry(thread.Entry{Run: head.Run.ID, Message: &q.Messages[0]})
		records = append(records, store.Record{Name: store.LogName(seq), Fence: fence, Payload: payload})
	}
	if err := s.h.work(ctx, PointModel, 1e9); err != nil {
		_, _, _ = s.Commit(context.Background(), key, head, thread.Nack{Fence: fence, Kind: thread.NackGiven}, nil)
		return
	}
	_, _, err := s.Commit(ctx, key, head, thread.CommitStep{Fence: fence, From: head.Seq, Outcome: thread.Done, Seq: seq, Consumed: refs},
		func(next thread.Head, r thread.Result) ([]store.Record, error) {
			more, err := s.record(head, &core.Termination{Type: core.TerminationStopped})(next, r)
			return append(records, more...), err
		})
	if err != nil && !errors.Is(err, thread.ErrFenced) {
		_, _, _ = s.Commit(context.WithoutCancel(ctx), key, thread.Head{}, thread.Nack{Fence: fence}, nil)
	}
}

func (s *stub) record(head thread.Head, end *core.Termination) mailbox.Build {
	return func(next thread.Head, _ thread.Result) ([]store.Record, error) {
		payload, err := s.records.EncodeRun(thread.RunRecord{Run: core.Run{ID: head.Run.ID, Status: core.RunDone, Dispatch: head.Run.Dispatch, Termination: end}})
		return []store.Record{{Name: store.RunName(head.Run.ID), Fence: head.Claim.Fence, Version: next.Version, Payload: payload}}, err
	}
}

func (h *host) engineStore() backend { return backend{h} }
