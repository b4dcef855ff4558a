package run

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// The outcome of a tool goes from its goroutine through news to the scheduler,
// which alone writes into calls. A tool that has returned may have acted: from then
// on its result is worth more than the time that is left.

// start runs a call's tool: concurrently with the scheduler, which serves the
// siblings, or, in a sequential round, until it has ended.
func (s *scheduler) start(ctx context.Context, t *task) {
	a := s.attempt(t)
	if s.group == nil {
		s.finish(ctx, a)
		return
	}
	s.running++
	s.group.Go(func(ctx context.Context) error {
		s.round.holder.shared.news.ended(s.round.holder.call(ctx, a))
		return nil // an error would cancel the siblings
	})
}

// attempt is the run of a call's tool, which is about to start: its goroutine reads
// nothing of the round.
func (s *scheduler) attempt(t *task) *attempt {
	s.round.calls[t.index].stage = running
	if r := s.round; r.kin.record == nil {
		r.kin.record = r.base.record
		r.kin.tokens, r.kin.deadline = r.base.share(r.draft.totals.Usage, len(r.calls))
	}
	kept := &parts{step: s.round.holder, kin: &s.round.kin, turn: s.round.first - 1, call: uint8(t.index)}
	kept.attempt.parts, kept.attempt.tool, kept.attempt.call = kept, t.tool, s.gates.toolCall(t)
	if s.round.holder.events.Listened() {
		kept.listen(s.group == nil)
	}
	return &kept.attempt
}

// finish takes the outcome of a tool of a sequential round when it has ended. Heads
// that the watch has read by then are heard before anything is stored, so that the
// write does not meet a newer head.
func (s *scheduler) finish(ctx context.Context, a *attempt) {
	done := s.round.holder.call(ctx, a)
	s.round.holder.emitShown(s.round.holder.shared.news.newlyShown()) // the last of a tool that was abandoned
	s.round.holder.hearHead()
	s.failed(done.call, s.toolEnded(ctx, done))
}

// call returns the outcome of a call's tool, which it starts unless it has started
// beside the commit of its turn. It reads only parts of the step that do not change
// while the round runs, and stores nothing, so that results are in the order in
// which the scheduler took them.
func (h *holder) call(ctx context.Context, a *attempt) (done finished) {
	done.call = a.call.Index
	done.err = env.Protect(func() (err error) {
		if a.within == nil {
			h.startTool(ctx, a)
		}
		done.result, done.took, err = h.finishTool(ctx, a)
		a.passed()
		return err
	})
	return done
}

// await waits until a call that runs has ended or reported something, or the watch
// has seen another head. It does not end with ctx: the tools do, at the latest
// abandonAfter later, and await waits for them.
//
// Calls that have ended while the scheduler was busy are taken in call order, so
// that the stored order does not depend on how two goroutines were scheduled.
func (s *scheduler) await(ctx context.Context) {
	show, done, changed := s.round.holder.shared.news.drain()
	if changed != nil {
		_ = s.round.holder.env.Wait(context.WithoutCancel(ctx), changed)
		show, done, _ = s.round.holder.shared.news.drain()
	}
	s.round.holder.emitShown(show) // before the results: a call's reports come before its outcome
	slices.SortFunc(done, func(a, b finished) int { return a.call - b.call })
	for _, f := range done {
		s.running--
		s.failed(f.call, s.toolEnded(ctx, f))
	}
}

// toolEnded takes the outcome of a tool. It may have acted when it returns, so from
// then on the result is worth more than the time that is left. It is kept even when
// the context is over, unless the claim is, when another worker decides about the
// call.
func (s *scheduler) toolEnded(ctx context.Context, f finished) error {
	switch {
	case ctx.Err() != nil && (f.err != nil || errors.Is(context.Cause(ctx), thread.ErrFenced)):
		return context.Cause(ctx) // its outcome was cut short: another claim decides
	case toolcall.IsFatal(f.err):
		s.round.calls[f.call].stage = fatal // its result is the close's: one that is stored alone would not end the run
		call := &s.round.calls[f.call].task.call
		return endAt("tool", "call "+call.ID+" of tool "+call.Name, f.err)
	case f.err != nil:
		return f.err
	}
	if ctx.Err() == nil {
		return s.toolReturned(ctx, f)
	}
	free, cancel := s.round.holder.detached(ctx)
	defer cancel()
	if err := s.toolReturned(free, f); err != nil || f.result.Suspend == nil {
		return err
	}
	// It waits now, and so may be run again; an at_most_once one is marked as if it
	// had acted, and no nack can take a mark back.
	return s.tickets.commit(free, nil)
}

// toolReturned takes what a call's tool has returned: its result, or that it
// waits for a decision.
func (s *scheduler) toolReturned(ctx context.Context, f finished) error {
	r := s.round
	t, result := r.calls[f.call].task, f.result
	if result.Err != nil {
		r.holder.warn(ctx, "tool call failed", append([]any{"call", t.call.ID, "tool", t.call.Name}, failure(result.Err)...)...)
	}
	if result.Suspend != nil {
		r.calls[t.index].task, r.calls[t.index].stage = nil, fresh // it has only asked
		return s.suspend(ctx, t, *result.Suspend, true)
	}
	// A command that cannot be stored is found here, where it costs the call its
	// intents. Found at the merge, or by the encoder, it would cost the run, or run
	// the tool again with every attempt.
	if err := r.base.hooks.engine.Check(result.Command); err != nil { // it names an unregistered key, action or effect, or cannot be stored
		result = tool.Failed("execution failed: " + err.Error())
	}
	switch base := result.Command.Batch.Base; {
	case base != nil && *base != t.snapshot.Revision():
		err := &stateerror.Revision{Expected: *base, Actual: t.snapshot.Revision()}
		result = tool.Failed("execution failed: " + err.Error())
	default:
		if err := s.tries(t, result.Command); err != nil {
			r.holder.warn(ctx, "state change of a tool does not apply", append([]any{"call", t.call.ID, "tool", t.call.Name}, failure(err)...)...)
			result = tool.Failed("execution failed: its change of the state does not apply")
		} else if base != nil { // what its own hooks changed is not in its way
			result.Command.Batch.Base = new(t.began)
		}
	}
	err := s.line.conclude(ctx, t.index, conclusion{result: result, hooks: t.hooks, after: t.after, took: f.took})
	// The runtime's result for a tool that it has abandoned, and that still runs,
	// proves nothing. The last result of a round travels with its commit, which is
	// progress.
	if r.calls[t.index].result.where == put && result.Status != core.ResultUnknown {
		r.holder.proves()
	}
	return err
}

// tries applies what a tool asks for to the snapshot that it was given, before its result
// is stored: what does not apply there applies nowhere.
func (s *scheduler) tries(t *task, asked state.Command) error {
	if len(asked.Batch.Mutations) == 0 {
		return nil
	}
	_, err := s.round.base.hooks.engine.Submit(t.snapshot, t.index, asked)
	return err
}
