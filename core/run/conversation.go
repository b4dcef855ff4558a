package run

import (
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// conversation is what is committed of a thread up to a sequence, as far as a
// step needs it. It never changes once it is in the cache, so that a step that
// fails leaves it behind as it was, and any number of steps may read it.
type conversation struct {
	incarnation uint64
	seq         uint64
	run         core.ID // of the newest entry
	step        int     // of the newest entry that has one
	messages    list[core.Message]
	seqs        list[uint64]  // of messages
	toolless    []int         // of the newest turn, as its entry says
	shown       core.Window   // what the model of the newest turn was shown
	summary     *summary      // stands for what was said before messages; nil: there is none
	opening     *core.Message // what run was asked first; nil: not known
	snapshot    state.Snapshot
	totals      thread.Totals            // of run
	record      thread.RunRecord         // of run, when known
	stored      manifest                 // the newest state snapshot that is stored
	changed     map[state.KeyPath]uint64 // values that it does not have: the sequence of their last change
	turns       int                      // since that snapshot
	size        int                      // about, in bytes
	short       bool                     // older messages belong to the window, which were not read
	charge      *charge                  // of the newest turn, by this process; nil: the tenant has no limits
}

// builder folds log entries into a conversation: those that a step has read, and
// those that it has committed. There is one way for both, so that a process that
// kept a thread and one that reads it anew come to the same. A builder belongs to
// one goroutine; what it began from stays as it is.
type builder struct {
	*conversation // the builder's own
	fold          state.Fold
	ahead         list[core.Message] // what the draft says that is added: it went on from these very messages
	own           bool               // changed is the builder's own
	kept          core.ID            // run of the entry kept last
	open          bool               // its first message comes next
	unshown       bool               // turns were taken back, and shown is of one of them
}

// build goes on from a conversation, which stays as it is.
func build(c *conversation) *builder {
	next := *c
	return &builder{conversation: &next, fold: *state.NewFold(c.snapshot), kept: c.run}
}

// enter drops the state that ended with an earlier run or step. Step 0 is what
// comes before a step: its input.
func (b *builder) enter(run core.ID, step int) {
	switch {
	case run != b.run:
		b.fold.BeginRun() // the values of a step's calls are among those that it drops
		b.run, b.step = run, step
	case step != 0 && step != b.step:
		b.fold.BeginStep()
		b.step = step
	}
}

// add folds the next entry in: the values first that ended with the run or step
// before it, then its patch.
func (b *builder) add(entry thread.Entry) error {
	// The patch was made on a state without the values that ended, and does not fit
	// one that still has them.
	b.seq++
	b.enter(entry.Run, entry.Step)
	b.keep(entry)
	if entry.Failed != nil || entry.Message != nil && entry.Message.Role == core.RoleAssistant {
		b.turns++
	}
	if len(entry.Patch) == 0 {
		return nil
	}
	b.note(entry.Patch)
	return b.fold.Apply(entry.Patch, entry.Revision)
}

// keep takes everything of an entry but its patch, which a stored snapshot may
// hold already. Totals are the newest turn's, plus what the results behind it came
// to: a round that changed nothing has no record of its own.
func (b *builder) keep(entry thread.Entry) {
	if entry.Run != b.kept {
		b.open = !b.kept.IsZero() || b.seq == 1 // else it is where a cold read of the log began
		b.kept, b.totals, b.opening = entry.Run, thread.Totals{}, nil
	}
	if entry.Superseded != nil {
		b.cut(entry.Superseded.From)
	}
	if m := entry.Message; m != nil {
		if b.open && m.Role == core.RoleUser {
			b.opening = m
		}
		b.open = false
		if m.Role == core.RoleAssistant {
			b.toolless = entry.Toolless
			b.unshown, b.shown = false, core.Window{}
			if entry.Window != nil {
				b.shown = *entry.Window
			}
		}
		b.say(m)
		b.seqs = b.seqs.with(b.seq)
		b.size += messageSize(*m)
		if m.ToolResult != nil && m.ToolResult.IsError {
			b.totals.Failures++
		}
		if m.ToolResult != nil {
			b.totals.MeterResult(&entry)
			b.endRound()
		}
	}
	if entry.Totals != nil {
		b.totals = *entry.Totals
	}
}

// endRound counts the step of the newest turn, when its last result has come. A cold
// read that begins inside a round knows nothing of it; the turn behind it says all.
func (b *builder) endRound() {
	messages := b.messages.slice()
	turn := len(messages) - 1
	var round thread.Outcomes
	for ; turn >= 0 && messages[turn].ToolResult != nil; turn-- {
		round.Add(messages[turn].ToolResult)
	}
	if turn >= 0 && len(messages[turn].ToolCalls) == len(messages)-1-turn {
		b.totals.EndStep(round.Failed())
	}
}

// say adds a message. One that the draft has said is where it belongs already.
func (b *builder) say(m *core.Message) {
	if next, ok := b.messages.along(b.ahead); ok && next.items[next.len()-1].ID == m.ID {
		b.messages = next
		return
	}
	b.ahead = list[core.Message]{} // from here on the two differ
	b.messages = b.messages.with(*m)
}

// cut drops the messages from a sequence on. What the window has room for then
// may not have been read.
func (b *builder) cut(from uint64) {
	first := b.seqs.len()
	for first > 0 && b.seqs.items[first-1] >= from {
		first--
		b.size -= messageSize(b.messages.items[first])
	}
	b.short = b.short || first < b.seqs.len() && min(from, b.seqs.items[0]) > 1
	b.unshown = b.unshown || b.shown != core.Window{}
	b.messages, b.seqs = b.messages.first(first), b.seqs.first(first)
}

// note remembers which keys a patch touches: only those are stored again with the
// next snapshot of the state. The map is copied at the first change, since the
// conversation that the builder began from still has it.
func (b *builder) note(p state.Patch) {
	if !b.own {
		changed := map[state.KeyPath]uint64{}
		maps.Copy(changed, b.changed)
		b.changed, b.own = changed, true
	}
	for _, key := range p.Keys() {
		b.changed[key] = b.seq
	}
}

// done ends the building and returns the conversation, with as many messages again
// as the window has: what is older would only take memory, and a cut at every step
// only time. The builder is not used any more: what it returns never changes.
func (b *builder) done(w Window) *conversation {
	c := b.conversation
	c.short = c.short || b.unshown
	c.snapshot = b.fold.Snapshot()
	shown := c.messages.len() - w.Cut(c.messages.slice())
	if first := c.messages.len() - 2*shown; first > shown {
		// Copied: a slice of the old array would keep all of it in memory.
		c.messages = listOf(append([]core.Message(nil), c.messages.items[first:]...))
		c.seqs = listOf(append([]uint64(nil), c.seqs.items[first:]...))
		c.size = 0
		for i := range c.messages.items {
			c.size += messageSize(c.messages.items[i])
		}
	}
	return c
}

// under returns the conversation with a summary in the place of what it covers; nil:
// without one. It is one that nobody else has yet.
func (c *conversation) under(s *summary) {
	n, _ := slices.BinarySearch(c.seqs.items, s.covers()+1)
	for i := range n {
		c.size -= messageSize(c.messages.items[i])
	}
	c.messages, c.seqs, c.summary = c.messages.without(n), c.seqs.without(n), s
}

// messageSize is about what a message takes in memory, in bytes.
func messageSize(m core.Message) int {
	const message, block, call, result = 256, 80, 64, 128 // the structs
	size := message + len(m.ID) + len(m.Model)
	for _, b := range m.Content {
		size += block + len(b.Text) + len(b.Echo) + len(b.Origin)
	}
	for _, c := range m.ToolCalls {
		size += call + len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	if r := m.ToolResult; r != nil {
		size += result + len(r.CallID) + len(r.Name) + len(r.Data) + len(r.Message)
	}
	return size
}

// bytes is about what the conversation takes in memory: what the run was asked
// stays with it when the window has moved on.
func (c *conversation) bytes() int {
	const fixed = 1 << 10
	size := fixed + c.size + c.snapshot.Size() + len(c.record.Response)
	if c.summary != nil {
		size += messageSize(c.summary.message)
	}
	if c.opening != nil && !c.hasOpening() {
		size += messageSize(*c.opening)
	}
	return size
}

// hasOpening reports whether what the run was asked is one of the messages. It looks
// from their end: a run is seldom long.
func (c *conversation) hasOpening() bool {
	for i := len(c.messages.items) - 1; i >= 0; i-- {
		if c.messages.items[i].ID == c.opening.ID {
			return true
		}
	}
	return false
}
