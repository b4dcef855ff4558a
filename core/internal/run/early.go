package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// A call must not act before its turn is committed: the next claim may hear another
// turn. The tools that are ReadOnly do not act, so their calls need not wait for
// that: their gates are asked and their tools run beside commit A. Nothing of them
// leaves the step before it: results, suspensions, parts, child runs and reports
// wait for the commit. If it is refused, they are dropped, and the contexts of the
// tools end. The next claim infers again, and may make another call of the same key.
//
// Some calls of such tools wait for the commit all the same:
//
//   - of a tool that is AtMostOnce, whose start the head must show, or that has an
//     Approval;
//   - those of a turn whose hooks asked for effects, which run after the commit and
//     before the tools, and of a turn after which a stop policy ends the run;
//   - all but the first of a sequential round: they see the changes of those before;
//   - those behind a call that waits, in a parallel round with gates or hooks before
//     tools: these see the calls in order, and a block starts no call behind it;
//   - those of a run whose last claim was lost without progress. The turn is
//     progress, so that a tool which ends its process costs no second inference;
//   - those of a replay.

// startBeside starts the calls of the turn that need not wait for its commit, and
// returns the round; nil: all of them wait. The stop policies judge the turn here,
// and not again after the commit.
func (m *machine) startBeside(ctx context.Context, turn *core.Message) *toolRound {
	h, d := &m.holder, &m.draft
	if !anyReads(m.base.agent, turn.ToolCalls) || len(d.effects) > 0 || h.head.Run.Attempts > 1 || !h.s.choices.Acts() {
		return nil
	}
	end, err := m.judge(*turn, nil, d.messages.First(d.messages.Len()-1).Slice(), answer{})
	if end != nil || err != nil { // it is found again after the commit
		return nil
	}
	t := newToolRound(h, &m.base, d, *turn, d.sequence(len(d.entries)))
	t.judged, t.round.mode = true, m.base.agent.Spec.Mode()
	t.scheduler.beside(ctx)
	return t
}

// anyReads reports whether one of the calls is of a tool that only reads.
func anyReads(a *registry.Resolved, calls []core.ToolCall) bool {
	for i := range calls {
		if onlyReads(a, calls[i].Name) != nil {
			return true
		}
	}
	return false
}

// onlyReads is the tool of a name if its calls may run beside the commit of their
// turn, else nil. The runtime's own tool, which takes no time, is not among them.
func onlyReads(a *registry.Resolved, name string) tool.Tool {
	found := a.Tools[name]
	if found == nil {
		return nil
	}
	if spec := found.Spec(); !spec.ReadOnly || spec.AtMostOnce || spec.Approval != "" {
		return nil
	}
	return found
}

// beside takes the calls that need not wait through their gates, and starts the tools
// of those that were let through. What it finds of the others, an error included,
// counts after the commit.
func (s *scheduler) beside(ctx context.Context) {
	r := s.round
	ready := s.askBeside(ctx)
	if i, err := s.gates.beforeTools(ctx, ready); err != nil {
		r.calls[i].early = &early{err: err}
		return
	}
	if len(ready) == 0 || ctx.Err() != nil {
		return
	}
	r.holder.shared.news.setTurn(turnPending)
	s.pending = true
	if r.mode != agent.Sequential {
		s.group, _ = r.holder.env.Group(ctx)
		for _, t := range ready {
			s.start(ctx, t)
		}
		return
	}
	ctx, s.cancel = env.Cancellable(ctx)
	s.first = s.attempt(ready[0])
	r.holder.startTool(ctx, s.first)
}

// askBeside asks the gates about the calls that need not wait, and returns those that
// were let through.
func (s *scheduler) askBeside(ctx context.Context) (ready []*task) {
	r := s.round
	inOrder := r.mode == agent.Sequential || r.base.hooks.gated()
	for i := range r.calls {
		t := s.gates.reads(i)
		if t == nil {
			if inOrder {
				break
			}
			continue
		}
		a, err := s.gates.gate(ctx, t)
		if err != nil || a.end != nil || a.ticket != nil {
			r.calls[i].early = &early{a, err}
			break
		}
		r.calls[i].task = t
		if ready = append(ready, t); r.mode == agent.Sequential {
			break
		}
	}
	return ready
}

// reads is call i on its way to its tool, if it need not wait for the commit of the
// turn; else nil. Arguments that are wrong wait.
func (g *gates) reads(i int) *task {
	t := g.round.task(i)
	found := onlyReads(g.round.base.agent, t.call.Name)
	if found == nil {
		return nil
	}
	ready, err := toolrun.Prepare(found, t.call.Arguments)
	if err != nil {
		return nil
	}
	t.tool = ready
	return t
}

// turnVisible notes that the turn is committed: what ran beside that counts from here on.
func (s *scheduler) turnVisible() {
	if s.pending {
		s.pending = false
		s.round.holder.shared.news.setTurn(turnCommitted)
	}
}

// drop ends the tools that run beside a commit that was refused, or whose outcome is unknown,
// and waits for them. Their outcomes are lost. If that of the commit is unknown, the nack names
// the calls. After turnVisible, and on a nil round, it does nothing.
func (t *toolRound) drop(ctx context.Context) {
	if t == nil || !t.scheduler.pending {
		return
	}
	s := &t.scheduler
	s.pending = false
	s.round.found = true // no other claim has reached these calls
	s.round.holder.shared.news.setTurn(turnRefused)
	if s.group != nil {
		s.group.Cancel()
		_ = s.group.Wait() // its functions return no errors
		return
	}
	s.cancel()
	_ = s.round.holder.call(ctx, s.first)
}
