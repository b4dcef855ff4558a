package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// gates check whether a call may run: its decision, if it waited for one, its
// arguments, the plugins' gates, and BeforeToolExecute. They change no call of the
// round and store nothing, but return their findings, which the caller writes down.
// So they can run once more for a call that has its result, only for the changes of
// its hooks (see line).
type gates struct{ round *round }

// admit takes call i through its checks and gates.
//
// Only the scheduler calls it, for one call at a time, though siblings' tools may
// run at the same time: gates see the draft's snapshot, which no tool changes
// before the merge, and need not be safe for concurrent use.
func (g *gates) admit(ctx context.Context, i int) (a admission, err error) {
	r := g.round
	t := r.task(i)
	switch r.holder.head.Run.Calls[i] {
	case thread.CallRunning:
		// An earlier claim has marked it: this one looks only at calls without a
		// task, and gives a task to what it starts. The outcome of the first start
		// is not known.
		a.end = &conclusion{result: synthetic(core.ResultUnknown, "outcome unknown: the tool may have run, and it must not run twice")}
		return a, nil
	case thread.CallResuming, thread.CallCancelling:
		if a.end, err = g.resume(ctx, t); a.end != nil || err != nil {
			return a, err
		}
	}
	if a.end, err = g.refuse(ctx, t); a.end != nil || err != nil {
		return a, err
	}
	return g.gate(ctx, t)
}

// refuse returns the result of a call that needs no gate: its tool does not exist
// or its arguments are invalid; nil: the gates decide. An approver would otherwise
// be asked to approve a call that cannot run. It checks a call again that continues
// after a decision: the tool may be gone since, and the arguments may be the
// person's. A tool that the build which called the model had may be in another
// build still; then the run waits for that build.
func (g *gates) refuse(ctx context.Context, t *task) (*conclusion, error) {
	r := g.round
	found := r.draft.tool(r.base.agent, t.call.Name)
	if found == nil {
		if !slices.Contains(r.base.conversation.Toolless, t.index) {
			if err := r.holder.goWithout(core.Errorf(core.CodeNotFound, "this build has no tool %q", t.call.Name)); err != nil {
				return nil, err
			}
		}
		why := fmt.Sprintf("tool %q not found", t.call.Name)
		if t.call.Name == finalanswer.Tool && r.base.agent.Spec.ResponseFormat != nil {
			why = finalanswer.Tool + " is called alone, behind the results of all other calls"
		}
		return &conclusion{result: synthetic(core.ResultInvalid, why), after: t.after}, nil
	}
	if ready, err := toolrun.Prepare(found, t.call.Arguments); err == nil {
		t.tool = ready
		return nil, nil
	}
	// Execute reports the error in them, and does not run the tool: it checks them
	// again. That costs a second check for calls that fail it, and for no others.
	result, err := toolrun.Execute(ctx, found, g.toolCall(t))
	if err != nil {
		return nil, err
	}
	result.Status = core.ResultInvalid
	return &conclusion{result: result, after: t.after}, nil
}

// gate asks the gates about a call whose arguments are valid: the one that asks what the
// tool's own spec has a person asked, and those of the plugins.
func (g *gates) gate(ctx context.Context, t *task) (admission, error) {
	verdict, err := g.askGates(ctx, t)
	if err != nil {
		return admission{}, err
	}
	switch {
	case verdict.Block, verdict.Result != nil:
		return admission{end: endedBy(verdict, t)}, nil
	case verdict.Suspend != nil:
		return admission{task: t, ticket: verdict.Suspend}, nil
	}
	return admission{task: t}, nil
}

// endedBy is the outcome of a call that its gates block or give a result, instead
// of letting it through to its tool.
func endedBy(verdict plugin.Verdict, t *task) *conclusion {
	end := conclusion{hooks: t.hooks, after: t.after}
	if verdict.Block {
		reason := wire.Shorten(verdict.Reason, maxDetail)
		end.result, end.blocked = synthetic(core.ResultBlocked, "blocked: "+reason), reason
		return &end
	}
	end.result = tool.Result{ToolResult: *verdict.Result} // AfterToolExecute looks at it like at the tool's own
	if end.result.Status != core.ResultDenied {
		end.result.Status = core.ResultSet
	}
	if end.result.Status == core.ResultDenied { // the gates of a call that is denied change nothing
		end.hooks = state.Command{}
	}
	if err := toolcall.CheckResult(*verdict.Result); err != nil { // the call's loss, as if its tool had returned it
		end.result = synthetic(core.ResultError, "a gate has set a result that cannot be stored: "+err.Error())
	}
	return &end
}

// askGates returns the gates' verdict and takes their command into the task: what
// follows for this call sees what it changed. The round's state sees it when the
// call is merged, with its result: a call whose result is lost in a crash has asked
// for nothing.
func (g *gates) askGates(ctx context.Context, t *task) (plugin.Verdict, error) {
	r := g.round
	verdict, after, err := r.base.hooks.gate(ctx, g.viewOf(t), engine.Moment{
		Turn: &r.turn, Call: &t.call, CallIndex: t.index, Resume: t.resume, Granted: t.suspended, Answers: t.answers,
		Approval: approvalOf(t.tool),
	})
	if err != nil {
		return verdict, err
	}
	t.snapshot, t.hooks = after.Snapshot, after.Command
	return verdict, nil
}

// approvalOf is the question to the approver before a tool runs; empty: no
// question, or no tool.
func approvalOf(t tool.Tool) string {
	if t == nil {
		return ""
	}
	return t.Spec().Approval
}

// beforeTools runs BeforeToolExecute for calls that are about to start,
// concurrently: each works on its own task and reads only parts of the step that do
// not change in that time. It returns the first error in call order, with the call.
//
// The first call's hooks run in this goroutine, so that a round of one call starts
// none. An error of one call does not cut the others short: which error ends the
// run must not depend on which hook was faster.
func (g *gates) beforeTools(ctx context.Context, ready []*task) (index int, err error) {
	r := g.round
	if len(ready) == 0 || !r.base.hooks.listens(core.PhaseBeforeToolExecute) {
		return 0, nil
	}
	for _, t := range ready {
		g.share(t, false)
	}
	errs := make([]error, len(ready))
	group, shared := r.holder.env.Group(ctx)
	for n, t := range ready[1:] {
		group.Go(func(ctx context.Context) error {
			errs[n+1] = env.Protect(func() error { return g.beforeTool(ctx, t) })
			return nil
		})
	}
	errs[0] = g.beforeTool(shared, ready[0])
	_ = group.Wait() // none of its functions returns an error
	for n, err := range errs {
		if err != nil {
			return ready[n].index, err
		}
	}
	return 0, nil
}

// share decides whether this call runs the actions that wait for BeforeToolExecute.
// Calls that start on the same snapshot all see them there; they belong to the
// first one, and to any other as soon as that has been merged. The stored result of
// another claim also shows which call had them. behind means that the call is
// judged after the line, where the actions of the calls in it are gone.
func (g *gates) share(t *task, behind bool) {
	r := g.round
	from := r.draft.snapshot
	if behind {
		from = t.snapshot
	}
	last := r.base.hooks.engine.Waiting(from, core.PhaseBeforeToolExecute)
	if last == 0 {
		return
	}
	for i := range r.calls {
		c, entry := &r.calls[i], r.calls[i].result.entry
		if i == t.index || c.merged() || behind && entry != nil && entry.Place > 0 {
			continue
		}
		if c.task != nil && c.task.takes || entry != nil && r.base.hooks.engine.Took(entry.Hooks, last) {
			t.taken = last
			return
		}
	}
	t.takes = true
}

// beforeTool runs BeforeToolExecute for one call.
func (g *gates) beforeTool(ctx context.Context, t *task) error {
	r := g.round
	before, err := r.base.hooks.phase(ctx, core.PhaseBeforeToolExecute, g.viewOf(t), engine.Moment{
		Turn: &r.turn, Call: &t.call, CallIndex: t.index, Resume: t.resume, Taken: t.taken,
	})
	if err != nil {
		return err
	}
	t.snapshot = before.Snapshot
	// The phase has kept to a base; from here on it is that of the call as a whole,
	// since what gates and hooks asked for is applied as one: see collides.
	if before.Command.Batch.Base != nil {
		before.Command.Batch.Base = new(t.began)
	}
	t.hooks.Append(before.Command)
	return nil
}

// viewOf is what hooks are shown for a call on its way to its tool: the snapshot and the
// clock are the call's own.
func (g *gates) viewOf(t *task) view {
	v := g.round.draft.view()
	v.snapshot, v.at = t.snapshot, t.at
	return v
}

// toolCall is what a call's tool is given, by value: the tool may go on when the
// step is over, and must reach nothing of it.
func (g *gates) toolCall(t *task) tool.Call {
	r := g.round
	return tool.Call{
		ID: t.call.ID, Name: t.call.Name, Arguments: t.call.Arguments, Idempotency: r.key(t.index), Index: t.index,
		Thread: r.holder.Key, Run: r.holder.id, Step: r.holder.events.Step(), Snapshot: t.snapshot.For(r.base.hooks.engine.Registry()).ForCall(t.index), Resume: t.resume,
		User: r.holder.head.Owner, Now: clock(t.at), Request: r.base.record.Request, Profiles: r.holder.profiles,
	}
}
