package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// round is the tool round of the committed turn. Calls that run side by side
// share it; mu is never held over I/O.
type round struct {
	turn  core.Message
	base  uint64 // sequence of the first result
	mu    sync.Mutex
	told  int      // results announced so far, in call order
	hooks []effect // what AfterToolExecute asked for, by call

	entries  []*thread.Entry // result of each call; nil while it has none
	payloads [][]byte        // as they are, or will be, stored
	stored   []bool          // readable under this claim's fence, or marked done in the head
	schema   uint16          // the highest of the results that were met in the log: another program may have written them
}

// effect is what a hook asked for on behalf of a call.
type effect []state.Effect

func newRound(turn core.Message, base uint64) *round {
	n := len(turn.ToolCalls)
	return &round{
		turn: turn, base: base, hooks: make([]effect, n),
		entries: make([]*thread.Entry, n), payloads: make([][]byte, n), stored: make([]bool, n),
	}
}

// record is the log record of a result.
func (r *round) record(i int) store.Record {
	return store.Record{Name: store.LogName(r.base + uint64(i)), Payload: r.payloads[i]}
}

// unstored are the records of results that no put has stored: they travel with
// the commit.
func (r *round) unstored() (records []store.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.entries {
		if r.entries[i] != nil && !r.stored[i] {
			records = append(records, r.record(i))
		}
	}
	return records
}

// keep notes a result. alone reports whether something may still run or wait
// after it, so that it has to be stored now.
func (r *round) keep(i int, entry thread.Entry, payload []byte) (alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[i], r.payloads[i] = &entry, payload
	return slices.Contains(r.entries, nil)
}

// tell marks a result as stored and announces results in call order.
func (r *round) tell(i int, events *emitter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored[i] = true
	for r.told < len(r.entries) && r.stored[r.told] && r.entries[r.told] != nil {
		events.emitAt(resultEvent(r.entries[r.told].Message), len(r.turn.Content)+r.told, 0)
		r.told++
	}
}

func (r *round) allStored(events *emitter) {
	for i := range r.entries {
		if r.entries[i] != nil {
			r.tell(i, events)
		}
	}
}

// effectsOf are the effects of call i, of its tool and of what came before and
// after it.
func (r *round) effectsOf(i int) (effects []state.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[i]; e != nil && e.Intents != nil {
		effects = append(effects, e.Intents.Effects...)
	}
	return append(effects, r.hooks[i]...)
}

// statuses are the calls as the step leaves them: a result that is stored makes
// its call done.
func (r *round) statuses(calls []thread.CallStatus) []thread.CallStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls = slices.Clone(calls)
	for i := range calls {
		if r.stored[i] {
			calls[i] = thread.CallDone
		}
	}
	return calls
}

// answered reports whether a call has come to a result that the head does not
// say it has.
func (r *round) answered(calls []thread.CallStatus) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, entry := range r.entries {
		if entry != nil && calls[i] != thread.CallDone {
			return true
		}
	}
	return false
}

// tools goes on with the round of a turn that an earlier step committed.
func (p *step) tools(ctx context.Context) (Stepped, error) {
	p.enter(int(p.head.Run.Step))
	if err := p.openRound(ctx); err != nil {
		return Stepped{}, err
	}
	return p.runRound(ctx)
}

// openRound finds the committed turn and adopts what earlier claims stored.
func (p *step) openRound(ctx context.Context) error {
	messages := p.draft.messages
	if len(messages) == 0 || len(messages[len(messages)-1].ToolCalls) != len(p.head.Run.Calls) {
		return fmt.Errorf("the turn before sequence %d has not the calls that the head says: %w", p.head.Run.Base, store.ErrCorrupt)
	}
	p.round = newRound(messages[len(messages)-1], p.head.Run.Base)
	return p.adopt(ctx)
}

// adopt takes over results that an earlier claim stored: the same bytes under
// our fence, so that no paused worker can change them, and no second run. What
// the head marks done is readable for ever already.
func (p *step) adopt(ctx context.Context) error {
	r, base := p.round, p.head.Run.Base
	last := base + uint64(len(r.entries)) - 1
	var again []store.Record
	var adopted []int
	for record, err := range p.store.Log(ctx, p.Key, base, last) {
		if err != nil {
			return fmt.Errorf("read stored results: %w", err)
		}
		seq, _ := store.LogSeq(record.Name)
		i := int(seq - base)
		done := p.head.Run.Calls[i] == thread.CallDone
		r.schema = max(r.schema, schemaOf(record.Payload))
		entry, err := p.records.DecodeEntry(record.Payload)
		if err != nil && (done || core.CodeOf(err) != core.CodeCorrupt) {
			return fmt.Errorf("result at sequence %d: %w", seq, err)
		}
		if err != nil || !p.isResult(entry, i) {
			continue // an orphan of something that was never committed
		}
		r.keep(i, entry, record.Payload)
		if !done {
			again = append(again, store.Record{Name: record.Name, Fence: p.fence, Payload: record.Payload})
		}
		adopted = append(adopted, i)
	}
	for i, status := range p.head.Run.Calls {
		if status == thread.CallDone && r.entries[i] == nil {
			return fmt.Errorf("the result of call %d, which is done, is missing at sequence %d: %w", i, base+uint64(i), store.ErrCorrupt)
		}
	}
	if err := p.put(ctx, again...); err != nil {
		return err
	}
	for _, i := range adopted {
		r.tell(i, &p.events)
	}
	return nil
}

// adopted is the highest schema of the results that this claim has met in the
// log, 0 when there are none: the head must say it, so that a program which
// cannot read them leaves the thread alone. One that is too new for this program
// goes into the nack.
func (p *step) adopted() uint16 {
	if p.round == nil {
		return 0
	}
	return p.round.schema
}

// schemaOf is the schema number of a payload, also of one that this program
// does not understand; 0 when it has none.
func schemaOf(payload []byte) uint16 {
	var frame struct {
		Schema uint16 `json:"schema"`
	}
	_ = json.Unmarshal(payload, &frame) // what is no record has no schema
	return frame.Schema
}

// isResult reports whether an entry is the result of call i of the open round.
func (p *step) isResult(entry thread.Entry, i int) bool {
	return entry.Run == p.id && entry.Message != nil && entry.Message.ToolResult != nil &&
		entry.Message.ID == resultID(p.id, int(p.head.Run.Step), i)
}

// runRound runs what is left of the round and ends the step.
func (p *step) runRound(ctx context.Context) (Stepped, error) {
	end := p.judge(p.round.turn)
	if end != nil {
		if err := p.answerOpen(ctx, core.ResultNotExecuted, "not executed: "+end.Code); err != nil {
			return Stepped{}, err
		}
	} else {
		blocked, runnable, err := p.gate(ctx)
		if err != nil {
			return Stepped{}, err
		}
		end = blocked
		if err := p.mark(ctx, runnable); err != nil {
			return Stepped{}, err
		}
		if err := p.executeAll(ctx, runnable); err != nil {
			return Stepped{}, err
		}
	}
	if err := p.mergeRound(ctx); err != nil {
		return Stepped{}, err
	}
	return p.finish(ctx, ending{termination: end})
}

// gate asks the gates about every call that has no result, in call order. A
// block ends the run: the blocked call and those after it are not executed.
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
		if refused, err := p.refuse(ctx, i); refused || err != nil {
			if err != nil {
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
	calls := p.round.statuses(p.head.Run.Calls)
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
	return err
}

// executeAll runs calls at the same time. What one of them could not store
// cancels none of the others.
func (p *step) executeAll(ctx context.Context, calls []int) error {
	if len(calls) == 1 {
		return env.Protect(func() error { return p.execute(ctx, calls[0]) })
	}
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

// mergeRound applies what the calls ask for, in call order, each on what those
// before it made of the state, with the hooks after it.
func (p *step) mergeRound(ctx context.Context) error {
	for i, entry := range p.round.entries {
		if err := p.mergeCall(ctx, i, *entry, true); err != nil {
			return err
		}
	}
	return nil
}

// mergeCall takes one result into the draft. Intents that cannot be applied are
// that call's failure, and nobody else's: its result stands.
func (p *step) mergeCall(ctx context.Context, i int, entry thread.Entry, hooks bool) error {
	d, call := &p.draft, p.round.turn.ToolCalls[i]
	d.add(entry)
	result := entry.Message.ToolResult
	if result.IsError {
		d.totals.Failures++
	}
	if p.agent == nil {
		return nil
	}
	if entry.Intents != nil {
		applied, err := p.agent.Engine.Submit(d.snapshot, i, *entry.Intents)
		if err != nil {
			p.log.ErrorContext(ctx, "what a call asked for could not be applied", append(p.attrs(), "call", call.ID, "tool", call.Name, "error", err)...)
		} else {
			applied.Command.Effects = nil // they run when the call is done, from the result
			d.merge(applied)
		}
	}
	if !hooks || result.Status == core.ResultNotExecuted || result.Status == core.ResultUnknown || result.Status == core.ResultBlocked {
		return nil
	}
	after, err := p.agent.Engine.Phase(ctx, p.env, p.context(plugin.Context{
		Phase: core.PhaseAfterToolExecute, Turn: &p.round.turn, Call: &call, CallIndex: i, Result: result,
	}))
	if err != nil {
		return p.phaseError(ctx, "phase after_tool_execute", call, err)
	}
	if p.head.Run.Calls[i] != thread.CallDone {
		p.round.hooks[i] = after.Command.Effects
	}
	after.Command.Effects = nil
	d.merge(after)
	return nil
}

func (p *step) phaseError(ctx context.Context, where string, call core.ToolCall, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return endWith("plugin", fmt.Errorf("%s of call %s: %w", where, call.ID, err))
}
