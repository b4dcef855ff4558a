package run

import (
	"context"
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
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
	fresh    []bool          // stored by this claim's own put, not adopted
	hooked   []bool          // AfterToolExecute has seen it, or never will
	left     []bool          // its tool was left behind: whether it acted is not known
	schema   uint16          // the highest of the results that were met in the log: another program may have written them
}

// effect is what a hook asked for on behalf of a call.
type effect []state.Effect

func newRound(turn core.Message, base uint64) *round {
	n := len(turn.ToolCalls)
	return &round{
		turn: turn, base: base, hooks: make([]effect, n),
		entries: make([]*thread.Entry, n), payloads: make([][]byte, n), stored: make([]bool, n), fresh: make([]bool, n), hooked: make([]bool, n), left: make([]bool, n),
	}
}

// record is the log record of a result. The caller holds mu, or the round alone.
func (r *round) record(i int) store.Record {
	return store.Record{Name: store.LogName(r.base + uint64(i)), Payload: r.payloads[i]}
}

// unstored are the records of results that no put has stored: they travel with
// the commit. Every call has its result by then.
func (r *round) unstored() (records []store.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.entries {
		if !r.stored[i] {
			records = append(records, r.record(i))
		}
	}
	return records
}

// keep notes a result. alone reports whether something may still run or wait
// after it, so that it has to be stored now. Of calls that end at the same time
// exactly one is the last.
func (r *round) keep(i int, entry thread.Entry, payload []byte) (alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[i], r.payloads[i] = &entry, payload
	return slices.Contains(r.entries, nil)
}

// abandon notes that the tool of call i was left behind.
func (r *round) abandon(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[i] = true
}

// tell marks a result as stored and announces results in call order, each as soon
// as those before it are stored: a reader never sees what a crash could take
// back, nor an order that a replay would not repeat.
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
// its call done. One that is only in memory does not, since a done call must be
// readable by anyone who sees the head. With hooks only one that AfterToolExecute has seen does: what
// the hook asks for runs with the write that makes the call done, and would be
// lost if that came first. progress reports whether this claim stored a result
// that is left out for it.
func (r *round) statuses(calls []thread.CallStatus, hooks bool) (left []thread.CallStatus, progress bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left = slices.Clone(calls)
	for i := range left {
		switch {
		case !r.stored[i]:
		case hooks && !r.hooked[i]:
			progress = progress || r.fresh[i] && left[i] != thread.CallDone
		default:
			left[i] = thread.CallDone
		}
	}
	return left, progress
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
