package run

import (
	"context"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// gate asks the gates about every call that has no result, in call order. A
// block ends the run: the blocked call and those after it are not executed, while
// those before it were allowed and run. Nothing runs until every gate was asked,
// so that what a gate says cannot depend on how fast a sibling is.
//
// A call that is marked as running when the step finds it was an earlier
// claim's, and what became of it is not known.
func (p *step) gate(ctx context.Context) (blocked *core.Termination, runnable []int, err error) {
	for i, call := range p.round.turn.ToolCalls {
		if entry := p.round.entries[i]; entry != nil { // nothing stored is asked again, but it still ends the run
			if result := entry.Message.ToolResult; result.Status == core.ResultBlocked && blocked == nil {
				blocked = blockedFor(strings.TrimPrefix(result.Message, blockedPrefix))
			}
			continue
		}
		if blocked != nil {
			if err := p.answer(ctx, i, tool.Failed("not executed: an earlier call was blocked"), core.ResultNotExecuted); err != nil {
				return nil, nil, err
			}
			continue
		}
		if p.head.Run.Calls[i] == thread.CallRunning {
			if err := p.answer(ctx, i, tool.Failed("outcome unknown: the tool may have run, and it must not run twice"), core.ResultUnknown); err != nil {
				return nil, nil, err
			}
			continue
		}
		refusal, err := p.refusal(ctx, i)
		if err != nil {
			return nil, nil, err
		}
		if refusal != nil {
			if err := p.answer(ctx, i, *refusal, core.ResultInvalid); err != nil {
				return nil, nil, err
			}
			continue
		}
		verdict, err := p.agent.Engine.Gate(ctx, p.context(plugin.Context{Phase: core.PhaseBeforeToolExecute, Turn: &p.round.turn, Call: &call, CallIndex: i}))
		switch {
		case err != nil:
			return nil, nil, p.phaseError(ctx, "gate", call, err)
		case verdict.Kind == plugin.VerdictBlock:
			blocked = blockedFor(verdict.Reason)
			err = p.answer(ctx, i, tool.Failed(blockedPrefix+verdict.Reason), core.ResultBlocked)
		case verdict.Kind == plugin.VerdictSetResult:
			err = p.answer(ctx, i, tool.Result{ToolResult: *verdict.Result}, core.ResultSet)
		default:
			runnable = append(runnable, i)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return blocked, runnable, nil
}

// blockedPrefix comes before the gate's reason in the result of a blocked call.
const blockedPrefix = "blocked: "

func blockedFor(reason string) *core.Termination {
	return &core.Termination{Type: core.TerminationBlocked, Detail: reason}
}

// mark notes in the head which at_most_once tools are about to start, in one
// write: from then on a claim that finds no result knows only that they may
// have run.
func (p *step) mark(ctx context.Context, runnable []int) error {
	calls, _ := p.round.statuses(p.head.Run.Calls, p.hooked())
	marked := false
	for _, i := range runnable {
		if t, ok := p.agent.Tools[p.round.turn.ToolCalls[i].Name]; ok && t.Spec().Delivery == tool.AtMostOnce {
			calls[i], marked = thread.CallRunning, true
		}
	}
	if !marked {
		return nil
	}
	_, err := p.commit(ctx, func() thread.Change { return thread.Suspend{Fence: p.fence, Calls: calls, Schema: p.adopted()} }, nil)
	if err == nil && !p.claims() {
		return thread.ErrFenced
	}
	return err
}

// executeAll runs calls at the same time. What one of them could not store
// cancels none of the others: their tools have begun, and each result that is
// stored is one that does not run again. Only a lost claim or an ended run stops
// them all, and a fatal tool when all have ended.
func (p *step) executeAll(ctx context.Context, calls []int) error {
	errs := make([]error, len(calls))
	group, shared := p.env.Group(ctx)
	for n, i := range calls {
		group.Go(func(context.Context) error {
			errs[n] = env.Protect(func() error { return p.execute(shared, i) })
			if stops(errs[n]) {
				return errs[n]
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, err := range errs { // in call order, whichever came first
		if err != nil {
			return err
		}
	}
	return nil
}
