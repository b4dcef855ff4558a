package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Decide takes a decision on a suspended call of a run: Deciding's Run and User
// are filled in. Its errors are mailbox.Service.Decide's, but for a run that
// belongs to another user, which is core.CodeNotFound. It does not wait for what
// comes of it: the run goes on in the queue.
func (r *Runtime) Decide(ctx context.Context, id core.Identity, runID core.ID, d mailbox.Deciding) (mailbox.Decided, error) {
	key, _, ok, err := r.mailbox.Locate(ctx, r.tenantOf(id), runID)
	if err != nil {
		return mailbox.Decided{}, err
	}
	if !ok {
		return mailbox.Decided{}, core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	d.Run, d.User = runID, id.User
	decided, err := r.mailbox.Decide(ctx, key, d)
	return decided, hidden(err, "run", runID.String())
}

// DecideThread is Decide for the open run of a thread.
func (r *Runtime) DecideThread(ctx context.Context, id core.Identity, threadID string, d mailbox.Deciding) (mailbox.Decided, error) {
	key := core.ThreadKey{Tenant: r.tenantOf(id), Thread: threadID}
	if err := key.Check(); err != nil {
		return mailbox.Decided{}, err
	}
	d.User = id.User
	decided, err := r.mailbox.Decide(ctx, key, d)
	return decided, hidden(err, "thread", threadID)
}

// hidden makes what belongs to another user look like what does not exist, for
// writes: the mailbox checks the owner in the write itself, where no thread can
// change hands in between. Reads begin with visible.
func hidden(err error, what, name string) error {
	if core.CodeOf(err) == core.CodeForbidden {
		return core.Errorf(core.CodeNotFound, "%s %s not found", what, name)
	}
	return err
}

// StreamDecisions takes decisions on calls of one run, in order, and shows what
// comes after them: run_start, the results of the round that were not there
// before, and what follows until the run is done or waits again. When the
// decisions let the run go on, it is stepped inline as [Runtime.Stream] does;
// otherwise, or when somebody else has it, the stream is fed from commits.
//
// Decisions that were all taken before, because a client tries again, show what
// came since the run last waited for them. A decision that is refused is the
// error, before the first event; those before it stand, and are duplicates when
// all are sent again.
func (r *Runtime) StreamDecisions(ctx context.Context, id core.Identity, threadID string, decisions []mailbox.Deciding, listener Listener) ([]mailbox.Decided, error) {
	key := core.ThreadKey{Tenant: id.Tenant, Thread: threadID}
	if err := key.Check(); err != nil {
		return nil, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	a, err := r.decideAll(work, id, key, decisions)
	if err != nil {
		return a.decided, err
	}
	f := follower{Runtime: r, key: key, run: a.run, audience: r.newAudience(listener)}
	// Where the run can go on, its hint is held back for this stream to go on with
	// it. So nothing here may depend on the client then: neither how fast it reads
	// nor whether it is still there. Otherwise all that follows is for the client.
	f.hurry = a.head.Run.ID == a.run && a.head.Ready()
	reading := ctx
	if f.hurry {
		reading = work
	}
	f.greet(reading, id, true)
	if err := f.resume(reading, a); err != nil && !f.audience.over() {
		r.wakeNow(work, key, a.head)
		return a.decided, err
	}
	f.hurry = false
	if head, turn := r.claimInline(work, key, a.head, a.run); turn != nil {
		f.overtaken(work, head)
		f.inline(work, head, turn)
	}
	return a.decided, f.follow(ctx)
}

// StreamAnswered takes decisions, as StreamDecisions does, and then streams what was said
// beside them as [Runtime.Stream] does: the run that the decisions let go on reads their
// results and the input in one step. A submission that is refused leaves the decisions as
// they are.
func (r *Runtime) StreamAnswered(ctx context.Context, id core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	s.Answered = true
	if err := errors.Join(r.known(s), s.Check()); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	a, err := r.decideAll(work, id, s.Thread, all)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.Stream(ctx, s, listener)
	if err != nil {
		r.wakeNow(work, s.Thread, a.head)
	}
	return receipt, err
}

// overtaken shows what somebody else has made visible of the run between the head that
// the stream has shown and the one that it has claimed: records, and results of a round
// that is open. A step announces what comes behind these alone, and its reader must have
// had them first. The run does not wait for the reader, who comes back when they cannot
// be read.
func (f *follower) overtaken(ctx context.Context, head thread.Head) {
	if f.audience.over() || head.Version == f.seen.Version+1 { // nothing but the claim came between
		return
	}
	f.hurry = true
	defer func() { f.hurry = false }()
	if _, _, err := f.show(ctx, head); err != nil && !f.audience.over() {
		f.audience.yield(f.run)
	}
}

// decisions are those of one request, when they are taken. Of the two heads, last
// and first, the one says whether the run can go on, the other what the client had
// been shown when it decided.
type decisions struct {
	run     core.ID
	decided []mailbox.Decided
	head    thread.Head // after the last
	first   thread.Head // after the first that was new; not there when none was
}

// decideAll takes the decisions. Their hints come after a lease, since the caller
// claims next; where it will not, the thread is woken at once.
//
// They are taken one by one, each in a write of its own, in the order given: the
// first that is refused ends it, and what was taken stands. So nothing may be lost
// there: the thread is woken for those before it, since no stream will claim it.
func (r *Runtime) decideAll(ctx context.Context, id core.Identity, key core.ThreadKey, all []mailbox.Deciding) (a decisions, err error) {
	if len(all) == 0 {
		return a, core.Errorf(core.CodeInvalid, "there is no decision")
	}
	for _, d := range all {
		if d.User = id.User; d.Run.IsZero() {
			d.Run = a.run // of the first, which may name none either: the thread's open run is meant
		}
		if !a.run.IsZero() && d.Run != a.run {
			err = core.Errorf(core.CodeInvalid, "the decisions are on calls of several runs")
			break
		}
		decided, head, failed := r.mailbox.DecideInline(ctx, key, d)
		if failed != nil {
			err = hidden(failed, "thread", key.Thread)
			break
		}
		if !decided.Duplicate && !a.first.Exists() {
			a.first = head
		}
		a.run, a.head = decided.RunID, head
		a.decided = append(a.decided, decided)
	}
	if err != nil && len(a.decided) > 0 {
		r.wakeNow(ctx, key, a.head)
	}
	return a, err
}

// wakeNow sends the hint at once that an inline decision holds back. When it fails,
// the one that was held back comes after the lease, and then the sweep.
func (r *Runtime) wakeNow(ctx context.Context, key core.ThreadKey, head thread.Head) {
	if !head.Ready() {
		return
	}
	if err := r.mailbox.Wake(ctx, hintOf(key, head), 0); err != nil {
		r.log.WarnContext(ctx, "wake-up lost, a later one or the sweep finds the thread", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}

func hintOf(key core.ThreadKey, head thread.Head) core.WakeUp {
	return core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
}

// claimInline claims a run for a stream, if its thread's head lets it go on. It is left
// to the queue, with a nil turn, when it must run alone, a suspect does, or the
// time is short.
//
// The turn is taken before the claim and is the caller's with it. Whatever happens
// in between, a hint is on its way: the one that the decision holds back comes after
// the lease, so that a process that dies here delays the run and does not lose it.
func (r *Runtime) claimInline(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID) (thread.Head, *turn) {
	if head.Run.ID != runID || !head.Ready() || head.Run.AvailableAt > r.env.Millis() {
		return head, nil // somebody has it, or it waits: for other decisions, or for a model that was asked too often
	}
	n := &turn{turns: r.turns} // it does not wait
	if head.Suspect() || !r.timeLeft(ctx) || !r.turns.try(n, false, unlucky(head)) {
		r.wakeNow(ctx, key, head)
		return head, nil
	}
	n.attend(r.stepper, key)
	claimed, ok, err := r.mailbox.ClaimFrom(ctx, head, hintOf(key, head), false)
	if err != nil {
		r.log.WarnContext(ctx, "claim failed, the run is left to the queue", "tenant", key.Tenant, "thread", key.Thread, "run", runID, "error", err)
	}
	if err == nil && ok && claimed.Run.ID != runID { // it ended meanwhile, and the next one was open: not this stream's
		_, _, err := r.mailbox.Commit(ctx, key, claimed, thread.Nack{Fence: claimed.Claim.Fence, Kind: thread.NackGiven}, nil)
		if err != nil {
			r.log.WarnContext(ctx, "claim could not be given back", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		}
		ok = false
	}
	if err != nil || !ok {
		n.leave()
		return head, nil
	}
	return claimed, n
}

// resume begins the stream behind the wait that the decisions ended: with
// run_start, and with the turn whose results come next known to the replayer.
//
// All of it happens before the run is claimed for this stream. What has come since
// the wait is in the log or the head by then and is shown from there; what comes
// later the step emits itself. In between lies only the claim, and whoever came
// first with it has left the rest to the follower.
func (f *follower) resume(ctx context.Context, a decisions) error {
	record, ok, err := f.mailbox.Run(ctx, f.key, a.head, f.run, f.dispatch)
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf(core.CodeNotFound, "run %s not found", f.run)
	}
	// Turns before the newest decided one are not shown again: the client has them,
	// or it could not have decided on a call of a later one.
	var turn uint64
	for _, d := range a.decided {
		turn = max(turn, d.Turn)
	}
	if turn == 0 {
		f.begin(record)
		return nil // nothing is known of the calls any more: the run is shown from its start
	}
	before, err := f.before(ctx, a, turn)
	if err != nil {
		return err
	}
	entries, err := store.ReadLog(ctx, f.store, f.records, f.key, turn, turn)
	if err != nil {
		return err
	}
	for _, i := range before.results {
		f.audience.first(resultMark(run.ResultID(f.run, entries[0].Step, i)))
	}
	f.begin(record)
	f.replayer.Pass(entries[0])
	f.next, f.early = turn+1, progress{base: turn + 1, results: len(before.results), tickets: before.tickets}
	if err := f.replay(ctx, a.head); err != nil { // what has come since, before a step adds to it
		return err
	}
	if err := f.showEarly(ctx, a.head); err != nil {
		return err
	}
	f.seen = a.head
	return nil
}

// shownBefore is what of a round had been shown when the run waited: who decided has
// seen it, and a stream that repeats it would show a result twice in one message.
type shownBefore struct {
	results []int           // calls
	tickets map[uint64]bool // by key
}

// before is what had been shown of the turn's round before any of the decisions
// on it: of a new one, what the head had then.
func (f *follower) before(ctx context.Context, a decisions, turn uint64) (shown shownBefore, err error) {
	var all []shownBefore
	if a.first.Exists() && a.first.Run.Base == turn+1 {
		all = append(all, shownIn(a.first))
	}
	for _, d := range a.decided {
		if !d.Duplicate || d.Turn != turn {
			continue
		}
		at, err := f.lastWait(ctx, d)
		if err != nil {
			return shown, err
		}
		all = append(all, at)
	}
	if len(all) == 0 { // nothing is known: the round is shown as a whole
		return shownBefore{tickets: map[uint64]bool{}}, nil
	}
	// The decisions of one request may have met different waits, if a try before has
	// got through with some. What all of them had been shown, every client has seen.
	shown = all[0]
	for _, other := range all[1:] {
		shown.results = slices.DeleteFunc(shown.results, func(i int) bool { return !slices.Contains(other.results, i) })
		for key := range shown.tickets {
			if !other.tickets[key] {
				delete(shown.tickets, key)
			}
		}
	}
	return shown, nil
}

// shownIn is what a head has of its open round. Whoever followed the run was shown
// exactly that, since showEarly shows what the head has, and nothing else.
func shownIn(head thread.Head) shownBefore {
	shown := shownBefore{tickets: map[uint64]bool{}}
	for i, status := range head.Run.Calls {
		if status == thread.CallDone {
			shown.results = append(shown.results, i)
		}
	}
	for _, t := range head.Tickets {
		shown.tickets[t.ID] = true
	}
	return shown
}
