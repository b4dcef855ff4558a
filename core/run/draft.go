package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run/checkpoint"
	"github.com/reveille-run/reveille/core/run/inference"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/core/window"
)

// draft is what the step has said and changed since its last commit, which
// nobody else sees: a crash or an error loses it, and the step is taken again.
// It belongs to the step's goroutine. Hooks are given its snapshot and messages,
// both of which are replaced and never changed, so that hooks may run side by
// side and keep what they were shown.
type draft struct {
	base     *base
	entries  []thread.Entry                // log records after head.Seq, in order
	consumed []thread.InboxRef             // inbox entries among them
	cut      uint64                        // the log is taken back from here on; 0: it is not
	past     *checkpoint.Conversation      // that the messages go on from: what is committed, or of that what the step does not take back
	messages checkpoint.List[core.Message] // the conversation, with those of entries
	snapshot state.Snapshot                // the state, with patches
	patches  []state.Patch                 // what hooks changed since the last entry that has a patch
	effects  []state.Effect                // to run after the commit
	totals   thread.Totals
	wrong    error  // of the turn, as the run's answer; nil: it is right, or none
	mends    bool   // the model is to mend it
	since    uint64 // version of the round record that it goes on from; 0: none
}

// begin makes the draft that follows from what is committed. What ended with the
// run before this one is left out of its state.
func (d *draft) begin() {
	c := d.base.conversation
	d.snapshot, d.totals = c.Snapshot, c.Totals
	if c.Run != d.base.holder.id {
		d.snapshot, d.totals = c.Snapshot.BeginRun(), thread.Totals{}
	}
	d.past, d.messages = c, c.Messages.Without(c.First)
}

// enter begins a step's own state: values of single calls end with their step. A
// step that is taken again after its turn was committed has them already.
func (d *draft) enter(number int) {
	d.base.holder.events.Enter(number)
	if c := d.base.conversation; c.Run != d.base.holder.id || c.Step != number {
		d.snapshot = d.snapshot.BeginStep()
	}
}

// add appends a log record. Its message is part of the conversation from here on:
// the phases that follow see it, and so does the model.
func (d *draft) add(e thread.Entry) {
	if d.entries == nil { // a step has an input, a turn or results, and what hooks changed
		d.entries = make([]thread.Entry, 0, 3)
	}
	d.entries = append(d.entries, e)
	if e.Message != nil {
		d.messages = d.messages.With(*e.Message)
	}
}

// movePatches moves the patches into an entry. The log holds values: whoever folds it
// comes to the draft's state without any hook. Totals go along, so that a step
// that reads only the log's end knows what the run has cost.
func (d *draft) movePatches(e *thread.Entry) {
	e.Patch = state.Join(d.patches...)
	e.Revision = d.snapshot.Revision()
	totals := d.totals
	e.Totals = &totals
	d.patches = nil
}

// addStep adds the step record, which has what hooks behind the turn changed. It
// has no message, and there is none when nothing changed.
func (d *draft) addStep() {
	if len(d.patches) == 0 {
		return
	}
	entry := thread.Entry{Run: d.base.holder.id, Step: d.base.holder.events.Step(), At: d.base.holder.at, Round: d.since}
	d.movePatches(&entry)
	d.add(entry)
}

// addClose is addStep for what the run's end changed, which belongs to no step.
func (d *draft) addClose() {
	before := len(d.entries)
	d.addStep()
	if len(d.entries) > before {
		d.entries[before].Closing = true
	}
}

// merge takes over what a phase came to. Its effects wait for the commit that
// makes the rest visible.
func (d *draft) merge(r plugin.PhaseResult) {
	d.snapshot = r.Snapshot
	if len(r.Patch) > 0 {
		d.patches = append(d.patches, r.Patch)
	}
	d.effects = append(d.effects, r.Command.Effects...)
}

// phase runs a phase's hooks and takes what they changed into the draft.
func (d *draft) phase(ctx context.Context, phase core.Phase, m plugin.Moment) error {
	result, err := d.base.hooks.phase(ctx, phase, d.view(), m)
	if err != nil {
		return err
	}
	d.merge(result)
	return nil
}

// view is what hooks are shown of the draft.
func (d *draft) view() view {
	return view{snapshot: d.snapshot, messages: d.messages.Slice(), usage: d.totals.Usage, step: d.base.holder.events.Step(), at: d.base.holder.at}
}

// soFar is what the draft knows of the thread: from what the newest turn was shown on,
// with what is said in this step.
func (d *draft) soFar() window.History {
	past := d.past.Places.Slice()[d.past.First:]
	h := window.History{Messages: d.messages.Slice(), Places: past}
	if len(h.Messages) == len(past) {
		return h
	}
	h.Places = append(make([]window.Place, 0, len(h.Messages)), past...)
	for i := range d.entries {
		if d.entries[i].Message != nil {
			h.Places = append(h.Places, window.Place{Sequence: d.base.holder.head.Seq + uint64(i) + 1})
		}
	}
	return h
}

// tool is a tool of an agent by its name, or the runtime's own, which reads what the draft
// knows of the thread; nil: there is none.
func (d *draft) tool(a *agent.Resolved, name string) tool.Tool {
	if name == tool.ReadResult && a.Reads {
		return window.Reader{History: d.soFar()}
	}
	return a.Tools[name]
}

// newlySummed is the summary that the draft's commit puts in force, and the schema of its
// record; 0: it leaves the one that is.
func (d *draft) newlySummed() (upTo uint64, schema uint16) {
	if d.past == nil { // of a run that cannot be read
		return 0, 0
	}
	if upTo = d.past.Summary.Covers(); upTo == 0 || upTo == d.base.holder.head.Summary {
		return 0, 0
	}
	return upTo, d.past.Summary.Schema
}

// addTurn puts the turn into the draft, with what the hooks before it changed
// and what the run came to: a cold step and a policy read the totals of a long
// run from its newest turn. t is where it comes from, and shown what its model was shown.
func (d *draft) addTurn(turn *core.Message, t *inference.Turn, shown *core.Window) {
	d.totals.Steps = d.base.holder.events.Step()
	for _, call := range turn.ToolCalls {
		d.totals.Note(call)
	}
	if d.base.judged() {
		d.totals.NoteTurn(turn)
	}
	if len(turn.ToolCalls) == 0 { // else its calls say whether the step has failed
		d.totals.EndStep(false)
	}
	entry := thread.Entry{
		Run: d.base.holder.id, Step: d.base.holder.events.Step(), At: d.base.holder.at, Message: turn, Attempt: d.base.holder.events.Fence(),
		Retried: t.Failures(), Duration: t.Spent().Time().Milliseconds(), Member: t.Member(), Window: shown,
	}
	for i, call := range turn.ToolCalls {
		if d.tool(d.base.agent, call.Name) == nil {
			entry.Toolless = append(entry.Toolless, i)
		}
	}
	d.movePatches(&entry)
	d.add(entry)
}

// logged tells the observer of the draft's records, if a write has moved the head over
// them.
func (d *draft) logged(was, now thread.Head) {
	if d.base.holder.s.observer != nil && now.Seq > was.Seq {
		d.base.holder.s.observer.Logged(d.base.record.AgentID, d.entries)
	}
}
