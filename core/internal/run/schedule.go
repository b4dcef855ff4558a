package run

import (
	"cmp"
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// scheduler runs what can be run of a round. It is the step's own goroutine, the
// only one that runs gates, starts calls, stores results and commits. The watch
// reads the head concurrently and leaves its findings in news. So do the calls of a
// parallel round, which run concurrently. The scheduler waits for those of a
// sequential round one by one, and needs no group of them.
//
// The failure of one call cancels none of the others: their tools have started, and
// each result that is stored is one that does not run again. Only a lost claim or
// an ended run cancels them. After a failure nothing new is started.
//
// Nothing of the step has a lock for this. A tool's function gets its task and its
// call by value before it starts, and gives its outcome back through news, whose
// mutex orders its work before the scheduler's.
//
// The scheduler sees decisions that come while it works in two ways: in the head
// that each of its writes returns, and in the heads that the watch reads. Both end
// in the step's head, and from there on make no difference.
type scheduler struct {
	round   *round
	gates   *gates
	tickets *tickets
	line    *line
	merger  *merger
	group   *env.Group // of the tools; nil in a sequential round, whose tools are waited for one by one
	running int        // in the group
	errs    []error    // by call, so that which one counts does not depend on who was first; nil: none
	stop    error      // the claim is lost, or the run was ended

	// Beside the commit of the turn, see early.go.
	pending bool               // tools run, and it is not known whether their turn is committed
	first   *attempt           // of a sequential round: of call 0; nil: it has not started there
	cancel  context.CancelFunc // of first
}

// run runs calls until each has its result or waits for a decision. It is called once.
func (s *scheduler) run(ctx context.Context) error {
	if s.round.mode == agent.Sequential {
		s.sequential(ctx)
	} else {
		s.parallel(ctx)
	}
	if s.stop != nil {
		return s.stop
	}
	if i := slices.IndexFunc(s.errs, func(err error) bool { return err != nil }); i >= 0 {
		return s.errs[i]
	}
	return context.Cause(ctx)
}

// failed notes what went wrong with call i, and lets what runs go on. The first error of
// a call is its cause; what follows of the same call is its consequence.
func (s *scheduler) failed(i int, err error) {
	if err == nil {
		return
	}
	if s.errs == nil {
		s.errs = make([]error, len(s.round.calls))
	}
	s.errs[i] = cmp.Or(s.errs[i], err)
	if stops(err) {
		s.stop = err
		if s.group != nil {
			s.group.Cancel()
		}
	}
}

// goesOn reports whether something new may be started. Once it says no it says no
// to the end: neither errors nor a context that is over come back.
func (s *scheduler) goesOn(ctx context.Context) bool {
	return ctx.Err() == nil && s.errs == nil
}

// sequential runs the calls one after the other, each from its gate to
// AfterToolExecute, so that the next one sees its changes. It stops at a call that
// waits for a decision: those after it stay new.
func (s *scheduler) sequential(ctx context.Context) {
	for i := range s.round.calls {
		c := &s.round.calls[i]
		switch {
		case i == 0 && s.first != nil:
			s.finish(ctx, s.first)
			s.cancel()
		case c.stage != concluded && s.goesOn(ctx):
			s.failed(i, s.one(ctx, i))
		}
		// A result that came with the end of the time is stored, and merged by the
		// claim that continues: AfterToolExecute would be cut short here.
		if c.stage != concluded || !s.goesOn(ctx) {
			return
		}
		s.failed(i, s.merger.mergeCall(ctx, i))
	}
}

// one takes one call to its result, or to where it waits. Gates see what the calls
// before it changed, since those are merged.
func (s *scheduler) one(ctx context.Context, i int) error {
	c := &s.round.calls[i]
	if s.round.calls.blocked() >= 0 {
		return s.skip(ctx, i)
	}
	if s.round.holder.head.Run.Calls[i] == thread.CallSuspended {
		return nil
	}
	if err := s.admit(ctx, i); c.stage != admitted {
		return err
	}
	s.launch(ctx, []*task{c.task})
	return nil
}

// admit asks the gates about call i, and writes down what they say: the call has its result,
// is to wait for a decision, or its tool may run, which starts when the gates of its siblings
// have been asked, too.
func (s *scheduler) admit(ctx context.Context, i int) error {
	a, err := s.ask(ctx, i)
	switch {
	case err != nil:
		return err
	case a.end != nil:
		return s.line.conclude(ctx, i, *a.end)
	case a.ticket != nil:
		return s.suspend(ctx, a.task, *a.ticket, false)
	}
	s.round.calls[i].stage, s.round.calls[i].task = admitted, a.task
	return nil
}

// ask asks the gates about call i, unless they were asked before the commit of the turn.
func (s *scheduler) ask(ctx context.Context, i int) (admission, error) {
	if before := s.round.calls[i].early; before != nil {
		s.round.calls[i].early = nil
		return before.admission, before.err
	}
	return s.gates.admit(ctx, i)
}

// suspend makes a call wait for a decision. If it cannot, that failure is the
// call's outcome.
func (s *scheduler) suspend(ctx context.Context, t *task, asked core.TicketRequest, byTool bool) error {
	refused, err := s.tickets.suspend(ctx, t, asked, byTool)
	if refused == nil {
		return err
	}
	return s.line.conclude(ctx, t.index, *refused)
}

// parallel starts every call that can start, waits for news, and looks again: a
// tool has ended, or a decision has come for one that waited. The head is looked at
// first, so that no decision is slept through: one that comes later than this look
// ends the wait.
//
// When nothing starts and nothing runs, only decisions can help, and those are not
// waited for in here: the step ends, and its claim with it.
func (s *scheduler) parallel(ctx context.Context) {
	if s.group == nil { // else its first calls run
		s.group, _ = s.round.holder.env.Group(ctx)
	}
	defer func() {
		// Nothing runs any more, unless the scheduler itself has panicked: then its
		// tools must not continue while the panic is handled.
		s.group.Cancel()
		_ = s.group.Wait()
	}()
	for {
		s.round.holder.hearHead()
		switch {
		case s.goesOn(ctx) && s.startAll(ctx):
		case s.running > 0:
			s.await(ctx)
		case s.goesOn(ctx) && s.round.calls.holding():
			s.failed(0, s.line.release(ctx, true))
		default:
			return
		}
	}
}

// startAll runs the gates of all calls that may continue, in call order, before any
// of them starts, so that the verdict of a gate cannot depend on how fast a sibling
// is. It reports whether it did anything new: its work may let other calls
// continue, so it is called until it finds nothing.
//
// In batch mode decided calls are held back while a ticket of the head is open,
// however long siblings run: the last decision decides about all. Calls that were
// superseded are not held back, and none is while only child runs keep a call from its place.
func (s *scheduler) startAll(ctx context.Context) (acted bool) {
	hold := s.round.mode == agent.ParallelBatchApproval && s.round.holder.head.Run.Held(s.round.holder.head.Tickets, 0)
	var ready []*task
	for i := range s.round.calls {
		// While a call is asking, the head's status is an earlier one.
		c := &s.round.calls[i]
		if c.stage != fresh && c.stage != crowded || !s.ready(i, hold) {
			continue
		}
		acted = true
		if err := s.admit(ctx, i); err != nil {
			s.failed(i, err)
			return acted
		}
		if c.stage == admitted {
			ready = append(ready, c.task)
		}
	}
	if s.round.calls.blocked() >= 0 {
		s.skipAll(ctx)
	}
	return s.launch(ctx, ready) || acted
}

// ready reports whether the gates of call i can run. hold: the round waits until
// every ticket is decided.
func (s *scheduler) ready(i int, hold bool) bool {
	if blocked := s.round.calls.blocked(); blocked >= 0 && i > blocked {
		return false // skipAll ends it
	}
	switch s.round.holder.head.Run.Calls[i] {
	case thread.CallSuspended:
		return false
	case thread.CallResuming:
		return !hold
	case thread.CallCancelling: // without a ticket it was superseded, and no decision will come
		return !hold || !slices.ContainsFunc(s.round.holder.head.Tickets, func(t thread.Ticket) bool { return int(t.Call) == i })
	}
	// New, or running under a claim that is gone: admit tells them apart. A crowded
	// call has no ticket: it is tried again when a ticket has gone, which is when
	// the call that had it is done.
	return s.round.calls[i].stage != crowded || len(s.round.holder.head.Tickets) < thread.MaxTickets
}

// skipAll ends the calls that a blocked run does not reach any more: the calls
// after the blocked one, and those before it that wait for a decision. No approver
// should see a question of a run that is over. Calls that run already run to their
// end: they may have acted, and their results are shown.
func (s *scheduler) skipAll(ctx context.Context) {
	blocked := s.round.calls.blocked()
	for i := range s.round.calls {
		c := &s.round.calls[i]
		switch c.stage {
		case fresh:
			if i < blocked && s.round.holder.head.Run.Calls[i] != thread.CallSuspended {
				continue
			}
		case asking, crowded:
		default:
			continue
		}
		s.failed(i, s.skip(ctx, i))
	}
}

// skip gives a call of a blocked run its result.
func (s *scheduler) skip(ctx context.Context, i int) error {
	reason := "not executed: an earlier call was blocked"
	if i < s.round.calls.blocked() {
		reason = "not executed: the run was blocked"
	}
	return s.line.conclude(ctx, i, conclusion{result: s.round.notExecuted(i, reason)})
}

// launch starts calls that were let through. Their BeforeToolExecute runs first,
// for all of them: a call whose tool never started must not be marked as one that
// may have. One write then makes known what is about to start and must not start
// twice, and what siblings wait for, so that it can be decided while these run. It
// reports whether it wrote: the head that came back may have more to do.
func (s *scheduler) launch(ctx context.Context, ready []*task) (wrote bool) {
	if i, err := s.gates.beforeTools(ctx, ready); err != nil {
		s.failed(i, err)
	}
	if !s.goesOn(ctx) {
		return false
	}
	once := func(t *task) bool { return t.tool.Spec().AtMostOnce }
	asks := s.round.calls.any(func(c *call) bool { return c.stage == asking })
	if slices.ContainsFunc(ready, once) || asks && (s.running+len(ready) > 0 || s.round.calls.holding()) {
		var marks []int
		for _, t := range ready {
			if once(t) {
				marks = append(marks, t.index)
			}
		}
		if err := s.tickets.commit(ctx, marks); err != nil {
			// The error concerns no call in particular. Nothing was started; a mark
			// that was stored anyway costs its call an unknown outcome, never a
			// second execution.
			s.failed(s.round.calls.index(func(c *call) bool { return c.stage != concluded }), err)
			return false
		}
		wrote = true
	}
	for _, t := range ready {
		s.start(ctx, t)
	}
	return wrote
}
