package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Submit enqueues a run, or gives its input to the open one as the mode says.
// When it returns without error the submission is durable. Refusals are
// thread's errors and leave nothing behind that anybody would see; they do not
// use up the submission's Key either.
func (s *Service) Submit(ctx context.Context, sub Submission) (Receipt, error) {
	receipt, _, err := s.submit(ctx, submission{Submission: sub})
	return receipt, err
}

// SubmitAndClaim is Submit for an inline run: when the thread is free it claims
// in the same write and claimed is true; the caller then runs the steps. The
// head is the one after the write.
func (s *Service) SubmitAndClaim(ctx context.Context, sub Submission) (receipt Receipt, head thread.Head, claimed bool, err error) {
	receipt, head, err = s.submit(ctx, submission{Submission: sub, inline: true})
	return receipt, head, receipt.Running, err
}

// submission is a Submission under way. Its ids are made once and kept over all
// tries, so that a try that is repeated writes the same bytes.
type submission struct {
	*Service
	Submission
	inline        bool
	apart         bool // it opens a run of its own, whatever is open
	run, dispatch core.ID
	at            int64      // when the run may begin; 0: at once
	body          string     // hash, when there is a Key
	known         bool       // an earlier try has stored the Key with these ids
	asked         Submission // as it was given; what it takes back may complete it
	taken         *taken     // what it takes back, when it was looked up
	admission                // what it has of its tenant's limits
}

func (s *Service) submit(ctx context.Context, u submission) (receipt Receipt, head thread.Head, err error) {
	sub := &u.Submission
	if sub.Opening.Retake != nil && sub.Mode == "" {
		sub.Mode = ModeInterrupt
	}
	if err := sub.Check(); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	var at int64
	if at, err = sub.Opening.start(s.env.Millis()); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	u.Service, u.run, u.dispatch, u.at, u.asked = s, s.env.NewID(), s.env.NewID(), at, *sub
	if err := u.keyed(ctx); err != nil {
		return Receipt{}, thread.Head{}, s.outward(ctx, sub.Thread, "input", err)
	}
	if head, err = u.look(ctx); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	// A second time at most: once the ids are the stored ones, the pointers agree.
	receipt, head, err = u.try(ctx, head)
	if taken, ok := errors.AsType[*takenError](err); ok { // another try with the same Key came first: go on under its ids
		if err := u.adopt(taken.pointers[0].Value); err != nil {
			return Receipt{}, head, err
		}
		if head, err = s.Head(ctx, sub.Thread); err != nil {
			return Receipt{}, head, err
		}
		receipt, head, err = u.try(ctx, head)
	}
	u.settle(ctx, receipt.RunID, err)
	return receipt, head, s.outward(ctx, sub.Thread, "input", err)
}

// look reads the head and, at the same time, what the Key stands for. Neither
// read confirms the other: the head may be older than the pointer, in which case
// the write is refused and the commit's loop goes on with a newer one.
func (u *submission) look(ctx context.Context) (head thread.Head, err error) {
	if u.Key.Value == "" {
		return u.Head(ctx, u.Thread)
	}
	if u.body, err = bodyHash(u.Submission); err != nil {
		return head, err
	}
	var value []byte
	group, shared := u.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		value, _, err = u.store.Pointer(ctx, u.Thread.Tenant, keyName(u.Thread.Thread, u.Key.Value))
		return err
	})
	head, err = u.Head(shared, u.Thread)
	if err := errors.Join(err, group.Wait()); err != nil {
		return head, fmt.Errorf("look up submission: %w", err)
	}
	switch {
	case value == nil && u.Key.Used:
		return head, core.Errorf(core.CodeInvalid, "thread %s: nothing was sent before under this Idempotency-Key, or it is forgotten", u.Thread.Thread)
	case value == nil:
		return head, nil
	}
	if err := checkAccess(head, u.User); err != nil { // before another's key says anything
		return head, fmt.Errorf("thread %s: %w", u.Thread.Thread, err)
	}
	return head, u.adopt(value)
}

// adopt takes the ids over that the Key was stored with.
func (u *submission) adopt(value []byte) error {
	p, err := decodePointer(value)
	if err != nil {
		return fmt.Errorf("idempotency key: %w", err)
	}
	if p.Body != u.body {
		return core.Errorf(core.CodeConflict, "thread %s: what was sent before under the same Idempotency-Key or message id has other content", u.Thread.Thread)
	}
	u.run, u.dispatch, u.known = p.Run, p.Dispatch, true
	return nil
}

// checkAccess refuses a thread that is another user's, or deleted: in this order, since
// to others it is like one that never was.
func checkAccess(head thread.Head, user string) error {
	switch {
	case head.Owner != "" && head.Owner != user:
		return thread.ErrForbidden
	case head.Deleted:
		return thread.ErrDeleted
	}
	return nil
}

// try makes the submission durable under its ids, or finds that it is. The
// receipt names the run that will read the input, or has: of steered input
// another run than the one that was submitted.
func (u *submission) try(ctx context.Context, head thread.Head) (Receipt, thread.Head, error) {
	receipt := Receipt{ThreadID: u.Thread.Thread, RunID: u.run, DispatchID: u.dispatch}
	if err := checkAccess(head, u.User); err != nil {
		return Receipt{}, head, fmt.Errorf("thread %s: %w", u.Thread.Thread, err)
	}
	if u.known {
		found, err := u.again(ctx, head, &receipt)
		if err != nil {
			return Receipt{}, head, err
		}
		if found {
			return receipt, head, nil
		}
	}
	if err := u.anew(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	if err := u.checkSupersede(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	if err := u.admit(ctx, head); err != nil {
		return Receipt{}, head, err
	}
	receipt.RunID, receipt.DispatchID = u.run, u.dispatch
	in := thread.Queued{
		Run: u.run, Dispatch: u.dispatch, AgentID: u.Opening.AgentID, Origin: u.Origin, Messages: u.Messages, Supersede: u.Opening.Supersede, Request: u.Opening.Request,
		Frontend: u.Opening.Frontend,
	}
	if u.taken != nil {
		in.Retakes = u.taken.run
	}
	record, err := u.inputRecord(in, 0)
	if err != nil {
		return Receipt{}, head, err
	}
	pointers := u.pointers()
	head, result, err := u.enqueue(ctx, head, pointers, func(next thread.Head) ([]store.Record, error) {
		listings, err := u.listings(next)
		return append([]store.Record{record}, listings...), err
	})
	if u.Key.Value != "" && errors.Is(err, store.ErrConflict) { // another try has stored its words, under the same ids
		head, result, err = u.overStored(ctx, head, record.Name, pointers, u.listings)
	}
	if err != nil {
		return Receipt{}, head, err
	}
	// Who reads the input is asked of the head that the write has made, not of the one
	// before it: the choice between a run of its own and another's inbox was made there.
	receipt.Running, receipt.Duplicate, receipt.Superseded = result.Claimed, result.Duplicate, superseded(result)
	reader, _, found, err := u.accepted(ctx, u.Thread, head, u.run, u.dispatch)
	if err != nil { // only of a duplicate: what was written now stands in the head
		return Receipt{}, head, err
	}
	if found {
		receipt.RunID = reader
	}
	return receipt, head, nil
}

// checkSupersede refuses to take the log back from anywhere but where the input
// of a run begins: a turn would lose its question, or a call its result. What the
// log says there never changes, so that it need not be asked again when the run
// begins; only whether it was superseded meanwhile.
func (u *submission) checkSupersede(ctx context.Context, head thread.Head) error {
	at := u.Opening.Supersede
	if at == 0 || u.taken != nil { // what a message led to is such a place
		return nil
	}
	refused := core.Errorf(core.CodeInvalid, "supersede: no run's input begins at sequence %d, allowed is the first message of one, of the %d records that thread %s has",
		at, head.Seq, u.Thread.Thread)
	if at > head.Seq {
		return refused
	}
	entries, err := store.ReadLog(ctx, u.store, u.records, u.Thread, max(at-1, 1), at)
	if err != nil {
		return fmt.Errorf("look at what is superseded: %w", err)
	}
	if entry := entries[len(entries)-1]; entry.Message == nil || !entry.Message.IsInput() {
		return refused
	}
	if before := entries[0]; at > 1 && before.Run == entries[1].Run && before.Superseded == nil {
		return refused
	}
	return nil
}

// overStored submits over input that an earlier try with the same Key has
// stored: another program, which writes another schema. What it says is the same,
// says the Key's hash. thread.ErrSchema: this program does not understand it.
// build makes what goes with it.
func (u *submission) overStored(ctx context.Context, head thread.Head, name string, pointers []store.Pointer,
	build func(next thread.Head) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	stored, ok, err := u.store.Get(ctx, u.Thread, name)
	if err == nil && !ok {
		err = fmt.Errorf("input %s of thread %s: %w", name, u.Thread, store.ErrConflict)
	}
	if err != nil {
		return head, thread.Result{}, fmt.Errorf("look at stored input: %w", err)
	}
	schema, err := u.records.Schema(stored.Payload)
	if err != nil {
		return head, thread.Result{}, err
	}
	c := commit{Service: u.Service, key: u.Thread, choose: u.change, pointers: pointers, covers: schema, accepted: u.acceptedBefore,
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) { return build(next) }}
	return c.run(ctx, thread.Head{})
}

// again finds that an earlier try was accepted. If its input still waits, it is
// hinted again in case that try died before its hint.
func (u *submission) again(ctx context.Context, head thread.Head, receipt *Receipt) (found bool, err error) {
	reader, waits, found, err := u.accepted(ctx, u.Thread, head, u.run, u.dispatch)
	if err != nil || !found {
		return false, err
	}
	receipt.RunID, receipt.Duplicate = reader, true
	if waits {
		u.wake(ctx, core.WakeUp{Tenant: u.Thread.Tenant, Thread: u.Thread.Thread, Dispatch: u.dispatch, Epoch: head.Epoch}, 0, env.PointHint)
	}
	return true, nil
}

// pointers lead to the thread: from the run's id and, if there is one, from the
// Key. The Key's comes first: where both are taken, it says whose ids count.
func (u *submission) pointers() []store.Pointer {
	p := pointer{Thread: u.Thread.Thread, Run: u.run, Dispatch: u.dispatch}
	byRun := runPointer(u.run, p)
	if u.Key.Value == "" {
		return []store.Pointer{byRun}
	}
	p.Body = u.body
	life := keyLife
	if u.Opening.Parent != nil { // the call that started it may run again after as long a wait
		life = inputLife
	}
	return []store.Pointer{encodePointer(keyName(u.Thread.Thread, u.Key.Value), p, life), byRun}
}

// change chooses the transition for the head as it stands when it is written:
// the run that was to read the input may end, or begin to wait, meanwhile.
func (u *submission) change(head thread.Head) thread.Change {
	key := dedupe(u.dispatch)
	e := thread.Enqueue{
		Dispatch: u.dispatch, Run: u.run, Priority: core.DefaultPriority, AvailableAt: u.at, Dedupe: key,
		Owner: u.User, RejectBusy: u.Mode == ModeReject,
	}
	if u.Opening.Priority != nil {
		e.Priority = *u.Opening.Priority
	}
	if p := u.Opening.Parent; p != nil {
		e.Parent = &thread.Parent{Thread: p.Thread, Run: p.Run, Call: p.Call}
		return e
	}
	// The run whose inbox may take the input, if it is to be read now.
	reads := u.at == 0 && !u.apart && head.Open() && head.Run.Status != thread.Closing && (u.Into.IsZero() || u.Into == head.Run.ID)
	// A run that waits gets what a person says in every mode but reject and interrupt,
	// since it is the reply to what the run asked. What is internal is none: it queues.
	// Neither is what takes the run back.
	switch {
	case u.Mode == ModeInterrupt && (head.Busy(u.env.Millis()) || !u.inline):
		return thread.Interrupt{Owner: u.User, Enqueue: &e}
	case (u.Mode == ModeSteer || u.Answered && u.Mode == "") && reads,
		u.Mode != ModeReject && u.Opening.Retake == nil && u.Origin != core.OriginInternal && reads && head.Run.Status == thread.Waiting:
		return thread.Input{ID: u.dispatch, Kind: thread.InboxPerson, Owner: u.User, Dedupe: key}
	case u.inline:
		return thread.EnqueueAndClaim{Enqueue: e, Worker: u.worker, Lease: u.lease.Milliseconds()}
	}
	return e
}
