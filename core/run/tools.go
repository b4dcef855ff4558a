package run

import (
	"context"
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
	end, runnable := w.judge(r.turn), []int(nil)
	if end != nil {
		err = r.answerOpen(ctx, "not executed: "+end.Code)
	} else if end, runnable, err = r.gate(ctx); err == nil {
		err = r.executeAll(ctx, runnable)
	}
	if err != nil {
		return Result{}, err
	}
	if err := r.fold(); err != nil {
		return Result{}, err
	}
	if end != nil {
		return w.finish(ctx, thread.Done, end)
	}
	return w.finish(ctx, thread.Yield, nil)
}

// judge asks the stop policies about the committed turn. A claim that takes the
// round over asks again, and gets the same answer.
func (w *work) judge(turn core.Message) *core.Termination {
	for _, check := range w.stop {
		if termination := check(w.agent, w.events.step, turn, w.record.Usage); termination != nil {
			return termination
		}
	}
	return nil
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
		stored := r.entries[i]
		if stored != nil && !stored.Message.ToolResult.IsError {
			continue
		}
		if blocked != nil {
			if stored == nil {
				err = r.answer(ctx, i, tool.Failed("not executed: an earlier call was blocked"))
			}
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		if refused, err := r.refuse(ctx, i); err != nil {
			return nil, nil, err
		} else if refused {
			continue
		}
		verdict, err := w.agent.Engine.Gate(ctx, w.context(plugin.Context{Phase: core.PhaseBeforeToolExecute, Turn: &r.turn, Call: &call}))
		if err != nil {
			return nil, nil, r.phaseError(ctx, "gate", call, err)
		}
		text := "blocked: " + verdict.Reason
		switch {
		case verdict.Kind == plugin.VerdictBlock && stored == nil:
			blocked = &core.Termination{Type: core.TerminationBlocked, Detail: verdict.Reason}
			err = r.answer(ctx, i, tool.Failed(text))
		case verdict.Kind == plugin.VerdictBlock && stored.Message.ToolResult.Message == text:
			// An earlier claim blocked it and died before its commit.
			blocked = &core.Termination{Type: core.TerminationBlocked, Detail: verdict.Reason}
		case stored != nil: // it ran and failed
		case verdict.Kind == plugin.VerdictSetResult:
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

// executeAll runs calls at the same time.
func (r *round) executeAll(ctx context.Context, calls []int) error {
	if len(calls) == 1 {
		return env.Protect(func() error { return r.execute(ctx, calls[0]) })
	}
	group, _ := r.work.env.Group(ctx)
	for _, i := range calls {
		group.Go(func(ctx context.Context) error { return r.execute(ctx, i) })
	}
	return group.Wait()
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

// atMostOnce reports whether the tool must never be started twice.
func (w *work) atMostOnce(name string) bool {
	t, ok := w.agent.Tools[name]
	return ok && t.Spec().Delivery == tool.AtMostOnce
}
