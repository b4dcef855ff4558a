package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// round is the tool round of the committed turn.
type round struct {
	work    *work
	turn    core.Message
	mu      sync.Mutex
	entries []*thread.Entry // result of each call, nil while it has none
	told    int             // results announced so far, in call order
}

// tools runs what is left of the tool round and ends the step.
func (w *work) tools(ctx context.Context) (Result, error) {
	w.events.step = int(w.head.Run.Step)
	r, err := w.openRound(ctx)
	if err != nil {
		return Result{}, err
	}
	blocked, runnable, err := r.gate(ctx)
	if err != nil {
		return Result{}, err
	}
	group, _ := w.env.Group(ctx)
	for _, i := range runnable {
		group.Go(func(ctx context.Context) error { return r.execute(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	if err := r.fold(); err != nil {
		return Result{}, err
	}
	if blocked != nil {
		return w.finish(ctx, thread.Done, blocked)
	}
	return w.finish(ctx, thread.Yield, nil)
}

// openRound finds the committed turn and, when an earlier claim may have run
// some of its calls, adopts their stored results.
func (w *work) openRound(ctx context.Context) (*round, error) {
	messages := w.conversation.messages
	if len(messages) == 0 || len(messages[len(messages)-1].ToolCalls) != len(w.head.Run.Calls) {
		return nil, fmt.Errorf("the turn before sequence %d has not the calls that the head says: %w", w.head.Run.Base, store.ErrCorrupt)
	}
	r := &round{work: w, turn: messages[len(messages)-1], entries: make([]*thread.Entry, len(w.head.Run.Calls))}
	if w.fresh {
		return r, nil
	}
	return r, r.adopt(ctx)
}

// adopt takes over results that an earlier claim stored: the same bytes under
// our fence, so that no paused worker can change them, and no second run. A
// call that may have started and must not start twice gets an unknown outcome.
func (r *round) adopt(ctx context.Context) error {
	w := r.work
	base, n := w.head.Run.Base, uint64(len(r.entries))
	for record, err := range w.threads.Log(ctx, w.key, base, base+n-1) {
		if err != nil {
			return fmt.Errorf("read stored results: %w", err)
		}
		seq, _ := store.LogSeq(record.Name)
		i := int(seq - base)
		entry, err := thread.DecodeEntry(record.Payload)
		if err != nil {
			return err
		}
		if entry.Run != w.record.ID || entry.Message == nil || entry.Message.ToolResult == nil ||
			entry.Message.ID != resultID(w.record.ID, w.events.step, i) {
			continue // an orphan of something that was never committed
		}
		if err := w.put(ctx, env.PointPutResult, store.Record{Name: record.Name, Fence: w.fence, Payload: record.Payload}); err != nil {
			return err
		}
		r.keep(i, entry)
	}
	for i, status := range w.head.Run.Calls {
		if r.entries[i] == nil && status == thread.CallRunning {
			if err := r.answer(ctx, i, tool.Failed("outcome unknown: the tool may have run, and it must not run twice")); err != nil {
				return err
			}
		}
	}
	return nil
}

// gate asks the gates about every call that has no result, in call order. A
// block ends the run: the blocked call and those after it are not executed.
func (r *round) gate(ctx context.Context) (blocked *core.Termination, runnable []int, err error) {
	w := r.work
	for i, call := range r.turn.ToolCalls {
		if r.entries[i] != nil {
			continue
		}
		if blocked != nil {
			if err := r.answer(ctx, i, tool.Failed("not executed: an earlier call was blocked")); err != nil {
				return nil, nil, err
			}
			continue
		}
		verdict, err := w.agent.Engine.Gate(ctx, w.context(plugin.Context{Phase: core.PhaseBeforeToolExecute, Turn: &r.turn, Call: &call}))
		if err != nil {
			return nil, nil, endWith("plugin", fmt.Errorf("gate of call %s: %w", call.ID, err))
		}
		switch verdict.Kind {
		case plugin.VerdictBlock:
			blocked = &core.Termination{Type: core.TerminationBlocked, Detail: verdict.Reason}
			err = r.answer(ctx, i, tool.Failed("blocked: "+verdict.Reason))
		case plugin.VerdictSetResult:
			err = r.conclude(ctx, i, tool.Result{ToolResult: *verdict.Result}, w.conversation.snapshot, state.Command{})
		default:
			runnable = append(runnable, i)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return blocked, runnable, nil
}

// execute runs one call between its phases and stores its result at once.
func (r *round) execute(ctx context.Context, i int) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	before, err := w.agent.Engine.Phase(ctx, w.env, w.context(plugin.Context{Phase: core.PhaseBeforeToolExecute, Turn: &r.turn, Call: &call}))
	if err != nil {
		return r.phaseError(ctx, core.PhaseBeforeToolExecute, call, err)
	}
	t, ok := w.agent.Tools[call.Name]
	if !ok {
		return r.conclude(ctx, i, tool.Failed(fmt.Sprintf("tool %q not found", call.Name)), before.Snapshot, before.Command)
	}
	w.env.Reach(env.PointTool, env.Before)
	result, err := tool.Execute(ctx, t, tool.Call{
		ID: call.ID, Name: call.Name, Arguments: call.Arguments, Key: r.key(i),
		Thread: w.key, Run: w.record.ID, Step: w.events.step, Snapshot: before.Snapshot,
	})
	w.env.Reach(env.PointTool, env.After)
	if ctx.Err() != nil {
		return context.Cause(ctx) // its outcome was cut short: another claim decides
	}
	if err != nil {
		return endWith("tool", fmt.Errorf("tool %s: %w", call.Name, err))
	}
	return r.conclude(ctx, i, result, before.Snapshot, before.Command)
}

func (r *round) phaseError(ctx context.Context, phase core.Phase, call core.ToolCall, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return endWith("plugin", fmt.Errorf("phase %s of call %s: %w", phase, call.ID, err))
}

// key is the call's idempotency key; the provider's call ids can repeat.
func (r *round) key(i int) string {
	return fmt.Sprintf("%s/%d/%d", r.work.record.ID, r.work.head.Run.Base-1, i)
}

// conclude runs AfterToolExecute and stores the result with every command that
// came with the call.
func (r *round) conclude(ctx context.Context, i int, result tool.Result, snapshot state.Snapshot, command state.Command) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	result.CallID, result.Name = call.ID, call.Name
	c := w.context(plugin.Context{Phase: core.PhaseAfterToolExecute, Turn: &r.turn, Call: &call, Result: &result.ToolResult})
	c.Snapshot = snapshot
	command.Append(result.Command)
	after, err := w.agent.Engine.Phase(ctx, w.env, c)
	if err != nil {
		return r.phaseError(ctx, core.PhaseAfterToolExecute, call, err)
	}
	command.Append(after.Command)
	result.Command = command
	return r.answer(ctx, i, result)
}

// answer stores the result of call i at its reserved sequence.
func (r *round) answer(ctx context.Context, i int, result tool.Result) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	result.CallID, result.Name = call.ID, call.Name
	entry := thread.Entry{Run: w.record.ID, Step: w.events.step, Message: &core.Message{
		ID: resultID(w.record.ID, w.events.step, i), Role: core.RoleTool, ToolResult: &result.ToolResult,
		RunID: w.record.ID, Step: w.events.step, CreatedAt: w.env.Millis(),
	}}
	if !result.Command.IsZero() {
		entry.Command = &result.Command
	}
	payload, err := entry.Encode()
	if err != nil {
		return err
	}
	record := store.Record{Name: store.LogName(w.head.Run.Base + uint64(i)), Fence: w.fence, Payload: payload}
	if err := w.put(ctx, env.PointPutResult, record); err != nil {
		if errors.Is(err, store.ErrTooLarge) && !result.IsError {
			return r.answer(ctx, i, tool.Failed("result too large to store: "+err.Error()))
		}
		return err
	}
	r.keep(i, entry)
	return nil
}

// keep notes a stored result and announces results in call order.
func (r *round) keep(i int, entry thread.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[i] = &entry
	for r.told < len(r.entries) && r.entries[r.told] != nil {
		r.work.events.emitAt(resultEvent(r.entries[r.told].Message), len(r.turn.Content)+r.told, 0)
		r.told++
	}
}

// fold takes the results into the conversation in call order.
func (r *round) fold() error {
	w := r.work
	for _, entry := range r.entries {
		if err := w.conversation.add(w.agent.Engine.Registry(), *entry); err != nil {
			return err
		}
		if entry.Command != nil {
			w.pending.command.Effects = append(w.pending.command.Effects, entry.Command.Effects...)
		}
	}
	return nil
}

// leaveOpenCalls answers every call of the turn without running it.
func (w *work) leaveOpenCalls(ctx context.Context, turn core.Message, reason string) error {
	r := &round{work: w, turn: turn, entries: make([]*thread.Entry, len(turn.ToolCalls))}
	for i := range turn.ToolCalls {
		if err := r.answer(ctx, i, tool.Failed(reason)); err != nil {
			return err
		}
	}
	return r.fold()
}

// atMostOnce reports whether the tool must never be started twice.
func (w *work) atMostOnce(name string) bool {
	t, ok := w.agent.Tools[name]
	return ok && t.Spec().Delivery == tool.AtMostOnce
}
