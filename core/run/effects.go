package run

import (
	"context"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// runEffects acts after a commit. Neither a lost claim nor a cancel stops it:
// what was committed stands, and nobody else will act on it. A failure is logged
// and goes nowhere, for the same reason.
func (p *step) runEffects(ctx context.Context, c plugin.Context, effects []state.Effect) {
	if len(effects) == 0 || p.agent == nil {
		return
	}
	ctx, cancel := p.undisturbed(ctx)
	defer cancel()
	if err := p.agent.Engine.RunEffects(ctx, c, effects); err != nil {
		p.log.ErrorContext(ctx, "effects failed; what was committed stands", append(p.attrs(), failure(err)...)...)
	}
}

// undisturbed returns a context that ends with the process's time and with
// nothing else: not when the watch sees that the claim is over, which the very
// commit has made so.
func (p *step) undisturbed(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if !p.last.IsZero() {
		return p.env.WithDeadline(free, p.last)
	}
	return context.WithCancel(free)
}

// callEffects runs the effects of the calls that a write has moved to done: the
// intents of their results, and what AfterToolExecute asked for if it has run.
// Effects of calls that were done before ran with the write that moved those, in
// whatever process that was: asking the two heads, instead of noting what this
// step has run, is what makes a takeover run them exactly once.
//
// AfterToolExecute runs again for a call that is found done, to rebuild the
// state, but its effects are left out there: see afterTool.
func (p *step) callEffects(ctx context.Context, was, now thread.Head) {
	if p.round == nil {
		return
	}
	over := now.Run.Base != was.Run.Base // sequences are never reserved twice
	for i, status := range was.Run.Calls {
		if status == thread.CallDone || !over && now.Run.Calls[i] != thread.CallDone {
			continue
		}
		call := p.round.turn.ToolCalls[i]
		p.runEffects(ctx, p.context(plugin.Context{Turn: &p.round.turn, Call: &call, CallIndex: i}), p.round.effectsOf(i))
	}
}
