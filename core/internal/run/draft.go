package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// draft holds the turn and the changes of the step since its last commit, which no
// other step sees: a crash or an error loses it, and the step is repeated. It
// belongs to the step's goroutine. Hooks receive its snapshot and messages, both of
// which are replaced and never changed, so that hooks may run concurrently and keep
// what they received.
//
// It reads and writes nothing but itself, and knows neither the claim nor the
// agent: it receives what it needs of them. So a copy of it is a draft as well,
// which undoes a phase that fails.
type draft struct {
	run  core.ID
	step int    // its number; 0: none was entered
	from uint64 // sequence of the log's newest record before entries
	// at is the clock for hooks, unix milliseconds, outside of calls, which have
	// separate clocks: when the step started, then when its last word was
	// generated, and when the run ended. It is stored with the outcome of the
	// hooks, see thread.Entry.At: nothing of a step asks for the time again.
	at int64

	past     *checkpoint.Conversation      // the base of the messages: the committed ones, without those that the step supersedes; nil: it cannot be read
	messages checkpoint.List[core.Message] // the conversation, with those of entries
	entries  []thread.Entry                // log records after from, in order
	consumed []thread.InboxRef             // inbox entries among them
	cut      uint64                        // the log is superseded from here on; 0: it is not
	snapshot state.Snapshot                // the state, with patches
	patches  []state.Patch                 // what hooks changed since the last entry that has a patch
	effects  []state.Effect                // to run after the commit
	totals   thread.Totals                 // of the run
	since    uint64                        // version of the round record that it continues from; 0: none
	asked    *sent.Prompt                  // of the turn's request; nil: no turn
	prompts  []store.Record                // of that request, which its thread lacks
}

// next is an empty draft of the same run, step and clock, after a sequence of the
// log.
func (d *draft) next(from uint64) draft {
	return draft{run: d.run, step: d.step, at: d.at, from: from}
}

// begin makes an empty draft the one that follows from the committed thread. It
// omits from its state the keys that ended with the previous run.
func (d *draft) begin(c *checkpoint.Conversation) {
	d.snapshot, d.totals = c.Snapshot, c.Totals
	if c.Run != d.run {
		d.snapshot, d.totals = c.Snapshot.BeginRun(), thread.Totals{}
	}
	d.past, d.messages = c, c.Messages.Without(int(c.First))
}

// enter begins a step's own state: values of single calls end with their step. A
// step that is taken again after its turn was committed has them already, as what is
// committed says.
func (d *draft) enter(number int, committed *checkpoint.Conversation) {
	d.step = number
	if int(committed.Step) != number { // one of another run has left nothing of its calls, see begin
		d.snapshot = d.snapshot.BeginStep()
	}
}

// replacePast replaces the base of the messages by a later look at the same thread.
// Messages that it covers by a summary leave the conversation.
func (d *draft) replacePast(past *checkpoint.Conversation) {
	d.messages = d.messages.Without(int(past.First - d.past.First))
	d.past = past
}

// add appends a log record. Its message is part of the conversation from here on:
// the phases that follow see it, and so does the model.
func (d *draft) add(e thread.Entry) {
	if d.entries == nil { // most commits have an input and a turn, or a turn alone
		room := 1
		if e.Message != nil && e.Message.IsInput() {
			room = 2
		}
		d.entries = make([]thread.Entry, 0, room)
	}
	d.entries = append(d.entries, e)
	if e.Message != nil {
		d.messages = d.messages.With(*e.Message)
	}
}

// movePatches moves the patches into an entry. The log holds values: every fold of
// it has the draft's state without any hook. Totals go along, so that a step that
// reads only the log's end knows what the run has cost.
func (d *draft) movePatches(e *thread.Entry) {
	e.Patch = state.Patch(nil).Join(d.patches...)
	e.Revision = d.snapshot.Revision()
	totals := d.totals
	e.Totals = &totals
	d.patches = nil
}

// addStep adds the step record, which has the changes of hooks after the turn. It
// has no message, and is not written when nothing changed.
func (d *draft) addStep() {
	if len(d.patches) == 0 {
		return
	}
	d.addOfStep(thread.Entry{Round: d.since})
}

// addClose is addStep for what the run's end changed, which belongs to no step.
func (d *draft) addClose() {
	before := len(d.entries)
	d.addStep()
	if len(d.entries) > before {
		d.entries[before].Closing = true
	}
}

// merge takes over the outcome of a phase. Its effects wait for the commit that
// makes the rest visible.
func (d *draft) merge(r engine.PhaseResult) {
	d.snapshot = r.Snapshot
	if len(r.Patch) > 0 {
		d.patches = append(d.patches, r.Patch)
	}
	d.effects = append(d.effects, r.Command.Effects...)
}

// view is what hooks are shown of the draft.
func (d *draft) view() view {
	return view{snapshot: d.snapshot, messages: d.messages.Slice(), usage: d.totals.Usage, step: d.step, at: d.at}
}

// soFar is the draft's view of the thread: from the start of the newest turn's
// window on, with the messages of this step.
func (d *draft) soFar() window.History {
	past := d.past.Places.Slice()[d.past.First:]
	h := window.History{Messages: d.messages.Slice(), Places: past}
	if len(h.Messages) == len(past) {
		return h
	}
	h.Places = append(make([]window.Place, 0, len(h.Messages)), past...)
	for i := range d.entries {
		if d.entries[i].Message != nil {
			h.Places = append(h.Places, window.Place{Sequence: d.sequence(i)})
		}
	}
	return h
}

// tool is a tool of an agent by its name, or the runtime's own, which reads the
// draft's view of the thread; nil: no such tool.
func (d *draft) tool(a *registry.Resolved, name string) tool.Tool {
	if name == toolcall.ReadResult && a.Reads {
		return window.Reader{History: d.soFar()}
	}
	return a.Tools[name]
}

// sequence is that of an entry.
func (d *draft) sequence(i int) uint64 { return d.from + uint64(i) + 1 }

// newlySummed is the summary that the draft's commit puts in force, and the schema of its
// record; 0: it leaves the one that is, which ends at inForce.
func (d *draft) newlySummed(inForce uint64) (upTo uint64, schema uint16) {
	if d.past == nil || d.past.Summary.Covers() == inForce { // nil: of a run that cannot be read
		return upTo, schema
	}
	if s := d.past.Summary; s != nil {
		upTo, schema = s.UpTo, s.Schema
	}
	return upTo, schema
}

// addTurn puts the entry of a turn into the draft, with the changes of the hooks
// before it and the totals of the run: a cold step and a policy read the totals of
// a long run from its newest turn. judged means that policies want to know of
// repeated turns.
func (d *draft) addTurn(e thread.Entry, judged bool) {
	turn := e.Message
	d.totals.Steps = d.step
	d.totals.Called += len(turn.ToolCalls)
	for _, call := range turn.ToolCalls {
		d.totals.Note(call)
	}
	if judged {
		d.totals.NoteTurn(turn)
	}
	if len(turn.ToolCalls) == 0 { // else its calls show whether the step has failed
		d.totals.EndStep(false)
	}
	d.addOfStep(e)
}

// addFailure puts the entry of a failed inference into the draft, with what the hooks before
// it changed. Tokens of the calls that failed are in the totals, as far as they are known.
func (d *draft) addFailure(e thread.Entry) {
	d.totals.Steps = d.step
	d.totals.EndStep(true)
	d.addOfStep(e)
}

// addOfStep adds an entry of the step, which takes the patches.
func (d *draft) addOfStep(e thread.Entry) {
	e.Run, e.Step, e.At = d.run, d.step, d.at
	d.movePatches(&e)
	d.add(e)
}
