package run

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// step is one Step call: where the run stands in the store and in what way it
// has been moved on. It belongs to one goroutine. The watch and the tools of a
// round run beside it: they touch news, which has its own lock, and the atomic
// fields.
type step struct {
	*Stepper
	Work
	id     core.ID     // of the run
	head   thread.Head // as this step knows it; the watch writes newer versions
	fence  uint64      // of the claim; 0 is never held
	last   time.Time   // until when there is time to hand back the work; zero: no end
	events emitter

	loaded
	draft draft
	round *round // the open tool round, once it is known
	news  news   // what reaches the round from beside the step

	held        atomic.Uint64 // fence, for the watch
	refencing   atomic.Bool   // the next fence is being taken
	ending      atomic.Bool   // the step ends the run: a closing head is no surprise to the watch
	modelFailed uint8         // model calls that failed since the last progress, lost ones included
	moved       bool          // this step made a commit or a newly done call
	announced   bool          // run_start was emitted
	unsaid      *turnBuilder  // the turn that a model has begun, until it is committed
}

// loaded is what a step reads: the run's record, its agent, and what is
// committed of the thread. The conversation is shared with the cache: it is
// replaced by commits, never changed.
type loaded struct {
	agent        *agent.Resolved
	record       thread.RunRecord
	recorded     bool           // record is stored
	input        *thread.Queued // the run's own, of a run that has not begun
	opening      *core.Message  // the run's first message, when it was read for itself
	starting     *conversation  // the thread as the run found it, in its first step
	conversation *conversation
}

// draft is what the step has said and changed since its last commit.
type draft struct {
	entries  []thread.Entry    // log records after head.Seq, in order
	consumed []thread.InboxRef // inbox entries among them
	cut      uint64            // the log is taken back from here on; 0: it is not
	messages []core.Message    // the conversation, with those of entries
	snapshot state.Snapshot    // the state, with patches
	patches  []state.Patch     // what hooks changed since the last entry that has a patch
	effects  []state.Effect    // to run after the commit
	totals   thread.Totals
}

// add appends a log record.
func (d *draft) add(e thread.Entry) {
	d.entries = append(d.entries, e)
	if e.Message != nil {
		d.messages = append(d.messages, *e.Message)
	}
}

// take moves the patches into an entry.
func (d *draft) take(e *thread.Entry) {
	e.Patch = state.Join(d.patches...)
	e.Revision = d.snapshot.Revision()
	totals := d.totals
	e.Totals = &totals
	d.patches = nil
}

// begin makes the draft that follows from what is committed. Messages are clipped
// for the same reason as in build.
func (p *step) begin() {
	c := p.conversation
	d := draft{snapshot: c.snapshot, totals: c.totals}
	if c.run != p.id {
		d.snapshot, d.totals = c.snapshot.BeginRun(), thread.Totals{}
	}
	messages := c.messages[p.window.Cut(c.messages):]
	d.messages = messages[:len(messages):len(messages)]
	p.draft = d
}

// enter begins a step's own state.
func (p *step) enter(number int) {
	p.events.step = number
	if c := p.conversation; c.run != p.id || c.step != number {
		p.draft.snapshot = p.draft.snapshot.BeginStep()
	}
}

// advance is the way through one step, from wherever the cursor stands. What it
// says and changes goes into the draft and is void if it returns an error: the
// hooks of a step that is taken again run again, on the committed state.
func (p *step) advance(ctx context.Context) (Stepped, error) {
	if err := p.load(ctx); err != nil {
		return Stepped{}, err
	}
	if p.head.Run.Cursor == thread.CursorTools {
		return p.tools(ctx)
	}
	number := int(p.head.Run.Step) + 1
	p.enter(number)
	if err := p.hear(ctx); err != nil {
		return Stepped{}, err
	}
	if p.head.Run.Cursor == thread.CursorStart {
		p.announceStart()
		if err := p.phase(ctx, plugin.Context{Phase: core.PhaseRunStart}); err != nil {
			return Stepped{}, err
		}
	}
	id := turnID(p.id, number)
	p.events.emit(core.Event{Type: core.EventStepStart, MessageID: id})
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference} {
		if err := p.phase(ctx, plugin.Context{Phase: phase}); err != nil {
			return Stepped{}, err
		}
	}
	turn, err := p.infer(ctx, number, id)
	if err != nil {
		return Stepped{}, err
	}
	if err := p.phase(ctx, plugin.Context{Phase: core.PhaseAfterInference, Turn: &turn}); err != nil {
		return Stepped{}, err
	}
	p.addTurn(turn)
	if len(turn.ToolCalls) > 0 {
		return p.commitTurn(ctx, turn)
	}
	end := p.judge(turn)
	natural := end == nil
	if natural {
		end = naturalEnd(turn)
	}
	return p.finish(ctx, ending{termination: end, natural: natural})
}

// addTurn puts the turn into the draft, with what the hooks before it changed
// and what the run came to: a cold step and a policy read the totals of a long
// run from its newest turn.
func (p *step) addTurn(turn core.Message) {
	d := &p.draft
	d.totals.Steps = p.events.step
	if turn.Usage != nil {
		d.totals.Usage = d.totals.Usage.Add(*turn.Usage)
	}
	for _, call := range turn.ToolCalls {
		d.totals.Note(call)
	}
	entry := thread.Entry{Run: p.id, Step: p.events.step, Message: &turn, Attempt: p.events.fence}
	d.take(&entry)
	d.add(entry)
}

// judge asks the stop policies about a turn. They see the totals with this turn,
// as they stand in its record, so that a takeover comes to the same.
func (p *step) judge(turn core.Message) *core.Termination {
	for _, check := range p.stop {
		if termination := check(p.agent, p.events.step, turn, p.draft.totals.Usage); termination != nil {
			return termination
		}
	}
	return nil
}

// announceStart emits the run's first event, once.
func (p *step) announceStart() {
	if !p.announced {
		p.announced = true
		p.events.emit(core.Event{Type: core.EventRunStart, ThreadID: p.Key.Thread, RunID: p.record.ID, AgentID: p.record.AgentID})
	}
}

// phase runs a phase's hooks and takes what they changed into the draft. A hook's
// error ends the run: it would fail again.
func (p *step) phase(ctx context.Context, c plugin.Context) error {
	result, err := p.agent.Engine.Phase(ctx, p.env, p.context(c))
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return endAt("plugin", "phase "+string(c.Phase), err)
	}
	p.draft.merge(result)
	return nil
}

// merge takes over what a phase came to.
func (d *draft) merge(r plugin.PhaseResult) {
	d.snapshot = r.Snapshot
	if len(r.Patch) > 0 {
		d.patches = append(d.patches, r.Patch)
	}
	d.effects = append(d.effects, r.Command.Effects...)
}

// context fills in what every hook may read.
func (p *step) context(c plugin.Context) plugin.Context {
	c.Thread, c.Run, c.AgentID, c.Step = p.Key, p.id, p.record.AgentID, p.events.step
	c.Snapshot, c.Messages = p.draft.snapshot, p.draft.messages
	return c
}
