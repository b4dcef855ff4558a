package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// chooseMode is how the round runs. An agent may be given another mode while a round
// of it waits, and what the head says counts then: it decides when the run is
// woken, and a scheduler that waits for something else would be woken for
// nothing, for ever.
func (r *round) chooseMode() agent.ExecutionMode {
	mode := r.base.agent.Spec.Mode()
	if r.holder.head.Run.Batch {
		return agent.ParallelBatchApproval
	}
	waits := slices.Index(r.holder.head.Run.Calls, thread.CallSuspended)
	behind := waits >= 0 && slices.ContainsFunc(r.holder.head.Run.Calls[waits+1:], decided)
	if mode == agent.ParallelBatchApproval || behind {
		return agent.ParallelStreaming
	}
	return mode
}

// decided reports whether a call that waited is to go on, or to end.
func decided(s thread.CallStatus) bool {
	return s == thread.CallResuming || s == thread.CallCancelling
}

// scheduler runs what can be run of a round. It is the step's own goroutine, the
// only one that asks gates, starts calls, stores results and commits. The watch
// reads the head beside it and leaves what it finds in news. So do the calls of a
// parallel round, which run beside each other; those of a sequential round the
// scheduler waits for, one by one, and needs no group of them.
//
// What one call fails with cancels none of the others: their tools have begun,
// and each result that is stored is one that does not run again. Only a lost
// claim or an ended run does. After a failure nothing new is started.
//
// Nothing of the step has a lock for this. A tool's function gets its task and its
// call by value before it starts, and gives its outcome back through news,
// whose mutex orders what it did before what the scheduler does with it.
//
// The scheduler sees decisions that come while it works in two ways: in the head
// that each of its own writes returns, and in the heads that the watch reads. Both
// end in the step's head, and from there on make no difference.
type scheduler struct {
	round   *round
	group   *env.Group // of the tools; nil in a sequential round, whose tools are waited for one by one
	running int        // in the group
	errs    []error    // by call, so that which one counts does not depend on who was first; nil: none
	stop    error      // the claim is lost, or the run was ended
}

// schedule runs calls until each has its result or waits for a decision.
func (r *round) schedule(ctx context.Context) error {
	s := &scheduler{round: r}
	if r.mode == agent.Sequential {
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
	return ctx.Err() == nil && s.stop == nil && !slices.ContainsFunc(s.errs, func(err error) bool { return err != nil })
}

// sequential runs the calls one after the other, each from its gate to
// AfterToolExecute, so that the next one sees what it changed. At a call that
// waits for a decision it stops: those behind it stay new.
func (s *scheduler) sequential(ctx context.Context) {
	for i := range s.round.calls {
		c := &s.round.calls[i]
		if c.stage != concluded && s.goesOn(ctx) {
			s.failed(i, s.one(ctx, i))
		}
		// A result that came with the end of the time is stored, and merged by the
		// claim that goes on: AfterToolExecute would be cut short here.
		if c.stage != concluded || !s.goesOn(ctx) {
			return
		}
		s.failed(i, s.round.mergeCall(ctx, i))
	}
}

// one takes one call to its result, or to where it waits. Gates see what the calls
// before it changed, since those are merged.
func (s *scheduler) one(ctx context.Context, i int) error {
	c := &s.round.calls[i]
	if s.round.blocked() >= 0 {
		return s.skip(ctx, i)
	}
	if s.round.holder.head.Run.Calls[i] == thread.CallSuspended {
		return nil
	}
	if err := s.round.admit(ctx, i); err != nil || c.stage != admitted {
		return err
	}
	s.launch(ctx, []*task{c.task})
	return nil
}

// parallel starts every call that can start, waits for news, and looks again: a
// tool has ended, or a decision has come for one that waited. The head is looked at
// first, so that no decision is slept through: one that comes later than this look
// ends the wait.
//
// When nothing starts and nothing runs, only decisions can help, and those are not
// waited for in here: the step ends, and its claim with it.
func (s *scheduler) parallel(ctx context.Context) {
	s.group, _ = s.round.holder.env.Group(ctx)
	defer func() {
		// Nothing runs any more, unless the scheduler itself has panicked: then its
		// tools must not go on beside whoever handles that.
		s.group.Cancel()
		_ = s.group.Wait()
	}()
	for {
		s.round.holder.hearHead()
		switch {
		case s.goesOn(ctx) && s.startAll(ctx):
		case s.running > 0:
			s.await(ctx)
		case s.goesOn(ctx) && s.round.holding():
			s.failed(0, s.round.release(ctx, true))
		default:
			return
		}
	}
}

// startAll asks the gates of all calls that may go on, in call order, before any
// of them starts, so that what a gate says cannot depend on how fast a sibling
// is. It reports whether it came to anything new: what it did may let other calls go
// on, so it is asked until it finds nothing.
//
// In batch mode decided calls are held back while a ticket of the head is open,
// however long siblings run: whoever decides the last one decides about all. Calls that
// were superseded are not.
func (s *scheduler) startAll(ctx context.Context) (acted bool) {
	hold := s.round.mode == agent.ParallelBatchApproval && slices.ContainsFunc(s.round.holder.head.Tickets, undecided)
	var ready []*task
	for i := range s.round.calls {
		// Of one that is asking the head's status is of before.
		c := &s.round.calls[i]
		if c.stage != fresh && c.stage != crowded || !s.ready(i, hold) {
			continue
		}
		acted = true
		if err := s.round.admit(ctx, i); err != nil {
			s.failed(i, err)
			return acted
		}
		if c.stage == admitted {
			ready = append(ready, c.task)
		}
	}
	if s.round.blocked() >= 0 {
		s.skipAll(ctx)
	}
	return s.launch(ctx, ready) || acted
}

// ready reports whether call i can be asked about. hold: the round waits until
// every ticket is decided.
func (s *scheduler) ready(i int, hold bool) bool {
	if blocked := s.round.blocked(); blocked >= 0 && i > blocked {
		return false // skipAll ends it
	}
	switch s.round.holder.head.Run.Calls[i] {
	case thread.CallSuspended:
		return false
	case thread.CallResuming:
		return !hold
	case thread.CallCancelling: // without a ticket it was superseded, and nobody will decide about it
		return !hold || !slices.ContainsFunc(s.round.holder.head.Tickets, func(t thread.Ticket) bool { return int(t.Call) == i })
	}
	// New, or running under a claim that is gone: admit tells them apart.
	// A crowded call was asked for nothing: it is asked again when a ticket has gone,
	// which is when the call that had it is done.
	return s.round.calls[i].stage != crowded || len(s.round.holder.head.Tickets) < thread.MaxTickets
}

// skipAll ends what a blocked run does not come to any more: the calls behind
// the blocked one, and those before it that wait for a decision. Nobody should be
// asked about a run that is over. What runs already runs to its end: it may have
// acted, and its result is told.
func (s *scheduler) skipAll(ctx context.Context) {
	blocked := s.round.blocked()
	for i := range s.round.calls {
		c := &s.round.calls[i]
		switch c.stage {
		case fresh:
			if i < blocked && s.round.holder.head.Run.Calls[i] != thread.CallSuspended {
				continue
			}
		case asking:
			c.stage, c.ticket = fresh, nil
		case crowded:
		default:
			continue
		}
		s.failed(i, s.skip(ctx, i))
	}
}

// skip gives a call of a blocked run its result.
func (s *scheduler) skip(ctx context.Context, i int) error {
	reason := "not executed: an earlier call was blocked"
	if i < s.round.blocked() {
		reason = "not executed: the run was blocked"
	}
	return s.round.conclude(ctx, i, conclusion{result: s.round.notExecuted(i, reason)})
}

// launch starts calls that were let through. Their BeforeToolExecute runs first,
// for all of them: a call whose tool never started must not be marked as one that
// may have. One write then makes known what is about to start and must not start
// twice, and what siblings wait for, so that it can be decided while these run. It
// reports whether it wrote: the head that came back may have more to do.
func (s *scheduler) launch(ctx context.Context, ready []*task) (wrote bool) {
	if i, err := s.round.beforeTools(ctx, ready); err != nil {
		s.failed(i, err)
	}
	if !s.goesOn(ctx) {
		return false
	}
	once := func(t *task) bool { return t.tool.Spec().Delivery == tool.AtMostOnce }
	asks := s.round.any(func(c *call) bool { return c.stage == asking })
	if slices.ContainsFunc(ready, once) || asks && (s.running+len(ready) > 0 || s.round.holding()) {
		var marks []int
		for _, t := range ready {
			if once(t) {
				marks = append(marks, t.index)
			}
		}
		if err := s.round.commitSuspend(ctx, marks); err != nil {
			// Of no call in particular. Nothing was started; a mark that was stored all
			// the same costs its call an unknown outcome, never a second execution.
			s.failed(s.round.index(func(c *call) bool { return c.stage != concluded }), err)
			return false
		}
		wrote = true
	}
	for _, t := range ready {
		s.start(ctx, t)
	}
	return wrote
}

// start runs a call's tool: beside the scheduler, which looks after the siblings
// meanwhile, or, in a sequential round, until it has ended. What the watch reads
// by then is heard before anything is stored, so that the write does not meet a
// newer head.
func (s *scheduler) start(ctx context.Context, t *task) {
	s.round.calls[t.index].stage = running
	call, kept := s.round.toolCall(t), s.round.newParts(t.index)
	if s.round.holder.events.Listened() {
		kept.listen(call.ID, call.Name, s.group == nil)
	}
	if s.group == nil {
		done := s.call(ctx, t, call, kept)
		s.round.holder.emitShown(s.round.holder.shared.news.takeShown()) // the last of a tool that was left behind
		s.round.holder.hearHead()
		s.failed(t.index, s.toolEnded(ctx, done))
		return
	}
	s.running++
	s.group.Go(func(ctx context.Context) error {
		s.round.holder.shared.news.ended(s.call(ctx, t, call, kept))
		return nil // an error would cancel the siblings
	})
}

// call returns what a call's tool came to. It reads of the step what does not
// change while the round runs, and stores nothing, so that results lie in the order
// in which the scheduler took them.
func (s *scheduler) call(ctx context.Context, t *task, call tool.Call, kept *parts) (done finished) {
	done.call = t.index
	done.err = env.Protect(func() (err error) {
		s.round.holder.env.Reach(env.PointTool, env.Before)
		began := s.round.holder.env.Now()
		done.result, err = s.round.holder.runTool(ctx, t.tool, call, kept)
		done.took = s.round.holder.env.Now().Sub(began)
		s.round.holder.env.Reach(env.PointTool, env.After)
		return err
	})
	return done
}

// await waits until a call that runs has ended or shown something, or the watch has
// seen another head. It does not end with ctx: the tools do, at the latest abandonAfter later,
// and are waited for.
//
// Calls that have ended while the scheduler was busy are taken in call order, so
// that what is stored does not depend on how two goroutines were scheduled.
func (s *scheduler) await(ctx context.Context) {
	show, done, changed := s.round.holder.shared.news.drain()
	if changed != nil {
		_ = s.round.holder.env.Wait(context.WithoutCancel(ctx), changed)
		show, done, _ = s.round.holder.shared.news.drain()
	}
	s.round.holder.emitShown(show) // before the results: what a call shows comes before what it came to
	slices.SortFunc(done, func(a, b finished) int { return a.call - b.call })
	for _, f := range done {
		s.running--
		s.failed(f.call, s.toolEnded(ctx, f))
	}
}

// toolEnded takes what a tool came to. It may have acted when it returns, so from
// then on the result is worth more than the time that is left: it is kept even
// when the context is over, unless the claim is, when another worker decides about
// the call.
func (s *scheduler) toolEnded(ctx context.Context, f finished) error {
	switch {
	case ctx.Err() != nil && (f.err != nil || errors.Is(context.Cause(ctx), thread.ErrFenced)):
		return context.Cause(ctx) // its outcome was cut short: another claim decides
	case tool.IsFatal(f.err):
		s.round.calls[f.call].stage = fatal // its result is the close's: one that is stored alone would not end the run
		call := &s.round.calls[f.call].task.call
		return endAt("tool", "call "+call.ID+" of tool "+call.Name, f.err)
	case f.err != nil:
		return f.err
	}
	if ctx.Err() == nil {
		return s.round.toolReturned(ctx, f)
	}
	free, cancel := s.round.holder.detached(ctx)
	defer cancel()
	if err := s.round.toolReturned(free, f); err != nil || f.result.Suspend == nil {
		return err
	}
	// It waits now, and so may be run again; an at_most_once one is marked as if it
	// had acted, and no nack can take a mark back.
	return s.round.commitSuspend(free, nil)
}

// newParts is made before the tool starts: its goroutine reads nothing of the round.
func (r *round) newParts(i int) *parts {
	return &parts{step: r.holder, turn: r.first - 1, call: uint8(i)}
}
