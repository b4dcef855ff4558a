package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// Submit enqueues a run, or adds its input to the open one, depending on the mode. When
// it returns without error the submission is durable. Refusals are thread's errors; they
// store nothing that anyone can see, and do not use up the submission's Key.
func (s *Service) Submit(ctx context.Context, sub Submission) (Receipt, error) {
	receipt, _, err := s.submit(ctx, sub, placing{})
	return receipt, err
}

// SubmitAndClaim is Submit for an inline run: if the thread is free, the same write claims
// it, and the receipt is Running; the caller then takes the steps. The head is the one after
// the write. The input is that of the claimed run, as a reader of its record would find it;
// nil: it was not claimed, or its record is to be read.
func (s *Service) SubmitAndClaim(ctx context.Context, sub Submission) (receipt Receipt, head thread.Head, input *thread.Queued, err error) {
	var stored thread.Queued
	receipt, head, err = s.submit(ctx, sub, placing{inline: true, worker: s.worker, lease: s.lease, stored: &stored})
	if !receipt.Running || stored.Dispatch.IsZero() {
		return receipt, head, nil, err
	}
	return receipt, head, &stored, err
}

// submission is a Submission under way. It is one goroutine's. Its ids are made once and
// kept for all attempts, so that an attempt that is repeated writes the same bytes.
type submission struct {
	s *Service
	// in is what is submitted, completed by what it repeats or replaces.
	in      Submission
	placing placing
	// ids change only when the submission adopts those of an earlier attempt.
	ids ids
	// body is the hash of what is submitted, as the caller gave it; empty without a Key.
	body string
	// known means that an earlier attempt has stored the Key with these ids.
	known bool
	// given are the Messages as the caller gave them; nil: the original's are repeated.
	given []core.Message
	// original is the input that it repeats or replaces; nil: not looked up yet, or not needed.
	original *original
	// covers is the schema of its input that another program has stored; 0: none has.
	covers uint16
	// admission is its slot of the tenant's limits.
	admission admission
}

// submit checks a submission, makes its ids and writes it.
// The receipt is zero if it returns an error. Errors that speak of the store's records are
// turned into those that clients may read: see outward.
func (s *Service) submit(ctx context.Context, sub Submission, p placing) (receipt Receipt, head thread.Head, err error) {
	if sub.Opening.Retake != nil && sub.Mode == "" {
		sub.Mode = ModeInterrupt
	}
	if err := sub.Check(); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	if p.start, err = sub.Opening.start(s.env.Millis()); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	u := submission{s: s, in: sub, given: sub.Messages, placing: p}
	if sub.Opening.Fixed != nil {
		u.ids.run = sub.Opening.Fixed.RunID
	}
	if u.ids.run.IsZero() {
		u.ids.run = s.env.NewID()
	}
	u.ids.dispatch = s.env.NewID()
	if p.message != nil {
		u.ids = *p.message
	}
	if err := u.keyByRetake(ctx); err != nil {
		return Receipt{}, thread.Head{}, s.outward(ctx, sub.Thread, "input", err)
	}
	if head, err = u.look(ctx); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	// At most twice: once the ids are the stored ones, the pointers agree.
	receipt, head, err = u.attempt(ctx, head)
	if taken, ok := errors.AsType[*pointerError](err); ok { // another attempt with the same Key was first: continue under its ids
		if err := u.adopt(taken.pointers[0].Value); err != nil {
			return Receipt{}, head, err
		}
		if head, err = s.Head(ctx, sub.Thread); err != nil {
			return Receipt{}, head, err
		}
		receipt, head, err = u.attempt(ctx, head)
	}
	u.releaseUnused(ctx, receipt.RunID, err)
	return receipt, head, s.outward(ctx, sub.Thread, "input", err)
}

// look reads the head and, at the same time, the ids of the Key. Neither read
// confirms the other: the head may be older than the pointer, and then the write is refused
// and the commit's loop continues with a newer head.
// core.CodeConflict: the Key was used with other content. core.CodeInvalid: it must have been
// used before, and was not.
func (u *submission) look(ctx context.Context) (head thread.Head, err error) {
	s, at := u.s, u.in.Thread
	if u.placing.known != nil {
		return *u.placing.known, nil
	}
	if u.in.Key.Value == "" {
		return s.Head(ctx, at)
	}
	if u.body, err = bodyHash(u.in); err != nil {
		return head, err
	}
	var value []byte
	group, shared := s.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		value, _, err = s.store.Pointer(ctx, at.Tenant, keyName(at.Thread, u.in.Key.Value))
		return err
	})
	if head, err = s.Head(shared, at); err != nil {
		group.Fail(err) // unless the other read has failed, which ended this one
	}
	if err := group.Wait(); err != nil {
		return head, fmt.Errorf("look up submission: %w", err)
	}
	switch {
	case value == nil && u.in.Key.Used:
		return head, core.Errorf(core.CodeInvalid, "thread %s: no earlier request has this Idempotency-Key, or it is forgotten", at.Thread)
	case value == nil:
		return head, nil
	}
	if err := checkAccess(head, u.in.User); err != nil { // before another's key says anything
		return head, fmt.Errorf("thread %s: %w", at.Thread, err)
	}
	return head, u.adopt(value)
}

// checkAccess refuses a thread that is another user's, or deleted: in this order, since to
// other users a deleted thread looks like one that never existed.
// A thread without an owner belongs to every user of its tenant.
func checkAccess(head thread.Head, user string) error {
	switch {
	case head.Owner != "" && head.Owner != user:
		return thread.ErrForbidden
	case head.Deleted:
		return thread.ErrDeleted
	}
	return nil
}

// attempt makes the submission durable under its ids, or finds that it is. The receipt
// names the run that will read the input, or has read it: for steered input that is another run
// than the submitted one.
// It is called at most twice for a submission. A *pointerError reports that the Key or the
// run's id leads elsewhere by now.
func (u *submission) attempt(ctx context.Context, head thread.Head) (Receipt, thread.Head, error) {
	if err := checkAccess(head, u.in.User); err != nil {
		return Receipt{}, head, fmt.Errorf("thread %s: %w", u.in.Thread.Thread, err)
	}
	receipt := u.receipt()
	if u.known {
		found, err := u.repeated(ctx, head, &receipt)
		if err != nil {
			return Receipt{}, head, err
		}
		if found {
			return receipt, head, nil
		}
	}
	if err := u.completeFromOriginal(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	if err := u.checkSupersede(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	if err := u.admit(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	head, result, err := u.write(ctx, head, u.queued(), u.listings)
	if err != nil {
		return Receipt{}, head, err
	}
	// The run that reads the input is looked up on the head that the write made, not on
	// the one before it: the choice between a separate run and another's inbox was made there.
	receipt = u.receipt()
	receipt.Running, receipt.Duplicate, receipt.Superseded = result.Claimed, result.Duplicate, superseded(result)
	by, _, found, err := u.s.reads.accepted(ctx, u.in.Thread, head, u.ids.run, u.ids.dispatch)
	if err != nil { // only of a duplicate: what was written now is in the head
		return Receipt{}, head, err
	}
	if found {
		receipt.RunID = by
	}
	return receipt, head, nil
}

// receipt is the receipt of a separate run. The ids change when the submission adopts
// those of an earlier attempt, or is admitted as one.
func (u *submission) receipt() Receipt {
	return Receipt{ThreadID: u.in.Thread.Thread, RunID: u.ids.run, DispatchID: u.ids.dispatch}
}

// queued is the input as it is stored.
func (u *submission) queued() thread.Queued {
	o := &u.in.Opening
	in := thread.Queued{
		Run: u.ids.run, Dispatch: u.ids.dispatch, AgentID: o.AgentID, Origin: u.in.Origin, Messages: u.in.Messages, Supersede: o.Supersede,
		Request: o.Request, Frontend: o.Frontend,
	}
	if o.Fixed != nil {
		in.Resolution = o.Fixed.Resolution
	}
	if o.Parent != nil {
		parent := thread.Parent(*o.Parent)
		in.Parent = &parent
	}
	if u.original != nil {
		in.Retakes = u.original.run
	}
	return in
}

// repeated finds that an earlier attempt was accepted, and completes its receipt. If its
// input still waits, it sends another hint, in case that attempt died before its own.
// found is false if the earlier attempt stored its key and died: then this one continues
// under its ids.
func (u *submission) repeated(ctx context.Context, head thread.Head, receipt *Receipt) (found bool, err error) {
	by, waits, found, err := u.s.reads.accepted(ctx, u.in.Thread, head, u.ids.run, u.ids.dispatch)
	if err != nil || !found {
		return false, err
	}
	receipt.RunID, receipt.Duplicate = by, true
	if waits {
		u.s.wakes.trySend(ctx, core.WakeUp{Tenant: u.in.Thread.Tenant, Thread: u.in.Thread.Thread, Dispatch: u.ids.dispatch, Epoch: head.Epoch}, 0, point.Hint)
	}
	return true, nil
}

// checkSupersede refuses to withdraw the log from anywhere but the start of a run's input:
// a turn would lose its question, or a call its result. The record at a sequence never changes,
// so that this need not be checked again when the run starts; only whether it was superseded by
// then.
// core.CodeInvalid: no run's input starts at that sequence.
func (u *submission) checkSupersede(ctx context.Context, head thread.Head) error {
	at := u.in.Opening.Supersede
	if at == 0 || u.original != nil { // the start of the original's input is such a place
		return nil
	}
	refused := core.Errorf(core.CodeInvalid, "supersede: no run's input starts at sequence %d, want the first message of one, among the %d records of thread %s",
		at, head.Seq, u.in.Thread.Thread)
	if at > head.Seq {
		return refused
	}
	entries, err := threadlog.Read(ctx, u.s.store, u.s.records, u.in.Thread, max(at-1, 1), at)
	if err != nil {
		return fmt.Errorf("read superseded ranges: %w", err)
	}
	if entry := entries[len(entries)-1]; entry.Message == nil || !entry.Message.IsInput() {
		return refused
	}
	if before := entries[0]; at > 1 && before.Run == entries[1].Run && before.Superseded == nil {
		return refused
	}
	return nil
}

// write stores the input and what lists its run, and makes the change for the head that it
// meets. If the record of the input is refused, another attempt with the same Key, or to deliver
// the same message, has stored it under the same ids, and the write goes over that.
//
// listings makes what lists the run for the head that the write makes, and may refuse that
// head by an error.
func (u *submission) write(ctx context.Context, head thread.Head, in thread.Queued, listings func(next thread.Head) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	input, err := inputRecord(u.s.records, &in, 0)
	if err != nil {
		return head, thread.Result{}, err
	}
	next, result, err := u.enqueue(ctx, head, func(next thread.Head) ([]store.Record, error) {
		records, err := listings(next)
		return slices.Insert(records, 0, input), err
	})
	if result.Claimed && u.placing.stored != nil && in.Plain() {
		*u.placing.stored = in
	}
	if again := u.in.Key.Value != "" || u.placing.message != nil; again && errors.Is(err, store.ErrConflict) {
		return u.writeOver(ctx, next, input.Name, listings)
	}
	return next, result, err
}

// writeOver submits over input that another attempt has stored, whose write of the head was
// refused or is on its way. That attempt was of a program that writes another schema, or, for a
// message, at a time when another agent was to read it: then the stored agent counts. The rest of
// the content is the same, as the Key's hash or the message's id says. thread.ErrSchema: this
// program does not understand it.
// The new commit does not put the input: it makes the stored record visible, in the schema
// that it has.
func (u *submission) writeOver(ctx context.Context, head thread.Head, input string, listings func(next thread.Head) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	left, schema, err := u.s.reads.leftInput(ctx, u.in.Thread, input)
	if err != nil {
		return head, thread.Result{}, err
	}
	u.covers, u.in.Opening.AgentID = schema, left.AgentID // which the listings name
	return u.enqueue(ctx, head, listings)
}

// commit is the submission's write, with the records that build makes for a head.
func (u *submission) commit(build func(thread.Head) ([]store.Record, error)) commit {
	return commit{
		w: &u.s.writer, key: u.in.Thread, choose: u.change, pointers: u.pointers(), accepted: u.acceptedBefore, covers: u.covers,
		doubt: u.placing.message != nil, // another worker may have delivered it before, at any head
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) { return build(next) },
	}
}

// change is the submission's change of a head: see the function of that name.
func (u *submission) change(head thread.Head) thread.Change {
	return change(&u.in, u.placing, u.ids, &head, u.s.env.Millis())
}

// acceptedBefore reports whether the input was in the head at some time: its run may have
// ended since, and the head remembers only the newest requests.
func (u *submission) acceptedBefore(ctx context.Context, head thread.Head) (bool, error) {
	_, _, ok, err := u.s.reads.accepted(ctx, u.in.Thread, head, u.ids.run, u.ids.dispatch)
	return ok, err
}
