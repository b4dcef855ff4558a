package checkpoint

import (
	"maps"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/state"
)

// builder folds log entries into a conversation: those that a step has read, and
// those that it has committed. There is one way for both, so that a process that
// kept a thread and one that reads it again have the same. A builder belongs to one
// goroutine, and does not change the conversation that it started from.
type builder struct {
	c     *Conversation // the builder's own
	fold  state.Fold
	ahead List[core.Message] // the messages of the step whose entries are added: it continued from these very messages
	own   bool               // c.changed is the builder's own
	kept  core.ID            // run of the entry kept last
	open  bool               // its beginning comes next
}

// build continues from a conversation, which it does not change.
func build(c *Conversation) *builder {
	next := *c
	return &builder{c: &next, fold: *c.Snapshot.Fold(), kept: c.Run}
}

// buildFrom begins with a stored snapshot and without messages, before the entry that
// comes after a sequence.
func buildFrom(s snapshot, seq uint64) *builder {
	return &builder{c: &Conversation{Seq: seq, Run: s.Run, Step: int32(s.Step), stored: s.Keys}, fold: *s.fold()}
}

// enter drops the state that ended with an earlier run or step. Step 0 is what
// comes before a step: its input.
func (b *builder) enter(run core.ID, step int32) {
	switch {
	case run != b.c.Run:
		b.fold.BeginRun() // the values of a step's calls are among those that it drops
		b.c.Run, b.c.Step = run, step
	case step != 0 && step != b.c.Step:
		b.fold.BeginStep()
		b.c.Step = step
	}
}

// add folds the next entry in: the values first that ended with the run or step
// before it, then its patch.
func (b *builder) add(entry *thread.Entry) error {
	// The patch was made on a state without the values that ended, and does not fit
	// one that still has them.
	b.c.Seq++
	b.enter(entry.Run, int32(entry.Step))
	b.keep(entry)
	if entry.Failed != nil || entry.Message != nil && entry.Message.Role == core.RoleAssistant {
		b.c.turns++
	}
	if len(entry.Patch) == 0 {
		return nil
	}
	b.note(entry.Patch)
	return b.fold.Apply(entry.Patch, entry.Revision)
}

// keep takes everything of an entry but its patch, which a stored snapshot may hold
// already. Totals are the newest turn's, plus those of the results after it: a
// round that changed nothing has no separate record.
func (b *builder) keep(entry *thread.Entry) {
	if entry.Run != b.kept {
		b.open = !b.kept.IsZero() || b.c.Seq == 1 // else it is where a cold read of the log began
		b.kept, b.c.Totals = entry.Run, thread.Totals{}
	}
	if entry.Superseded != nil {
		b.cut(entry.Superseded.From)
	} else if b.open {
		b.begin(entry)
	}
	if entry.Member != nil {
		b.stand(entry)
	}
	if entry.Failed != nil && entry.Window != nil {
		b.c.noted = b.c.noted.With(window.Place{Sequence: b.c.Seq, Window: entry.Window})
	}
	if m := entry.Message; m != nil {
		if m.Role == core.RoleAssistant {
			b.c.Toolless, b.c.Prompt = entry.Toolless, entry.Prompt
		}
		b.say(m)
		b.c.Places = b.c.Places.With(window.Place{Sequence: b.c.Seq, Window: entry.Window})
		b.c.size += int32(messageSize(m))
		if m.ToolResult != nil && m.ToolResult.IsError {
			b.c.Totals.Failures++
		}
		if m.ToolResult != nil {
			b.c.Totals.MeterResult(entry)
			b.endRound()
		}
	}
	if entry.Totals != nil {
		b.c.Totals = *entry.Totals
	}
}

// begin takes the entry with which a run starts, after a record that supersedes. A
// run that starts without input continues the run before it, and keeps that run's
// first message: see [Reader.FindOpening], which reads the same.
func (b *builder) begin(entry *thread.Entry) {
	if m := entry.Message; m != nil && m.IsInput() {
		b.c.Opening = Opening{m, b.c.Seq}
	}
	b.open = false
}

// stand notes the place of a turn or a failed inference in a pool. A failed one has
// no model: the turn before it counts.
func (b *builder) stand(entry *thread.Entry) {
	p := Home{Member: *entry.Member, Seq: b.c.Seq, Run: entry.Run}
	if entry.Message != nil {
		p.At = entry.Message.CreatedAt
	} else if n := b.c.Homes.Len(); n > 0 {
		p.At = b.c.Homes.At(n - 1).At
	}
	b.c.Homes = b.c.Homes.With(p)
}

// endRound counts the step of the newest turn, when its last result has come. A
// cold read that starts inside a round knows nothing of it; the record of the turn
// after it has all.
func (b *builder) endRound() {
	messages := b.c.Messages.Slice()
	turn := len(messages) - 1
	var round thread.Outcomes
	for ; turn >= 0 && messages[turn].ToolResult != nil; turn-- {
		round.Add(messages[turn].ToolResult)
	}
	if turn >= 0 && len(messages[turn].ToolCalls) == len(messages)-1-turn {
		b.c.Totals.EndStep(round.Failed())
	}
}

// say adds a message. One that the draft has said is where it belongs already.
func (b *builder) say(m *core.Message) {
	if next, ok := b.c.Messages.along(b.ahead); ok && next.At(next.Len()-1).ID == m.ID {
		b.c.Messages = next
		return
	}
	b.ahead = List[core.Message]{} // from here on the two differ
	b.c.Messages = b.c.Messages.With(*m)
}

// cut drops the messages from a sequence on. Older messages for which the window
// then has space may not have been read.
func (b *builder) cut(from uint64) {
	first := b.c.Places.Len()
	for first > 0 && b.c.Places.At(first-1).Sequence >= from {
		first--
		b.c.size -= int32(messageSize(b.c.Messages.At(first)))
	}
	b.c.short = b.c.short || first < b.c.Places.Len() && min(from, b.c.Places.At(0).Sequence) > 1
	if first < b.c.Messages.Len() {
		b.c.Prompt = "" // of which turn it was is not known
	}
	b.c.Messages, b.c.Places = b.c.Messages.First(first), b.c.Places.First(first)
	homes := b.c.Homes.Len()
	for homes > 0 && b.c.Homes.At(homes-1).Seq >= from {
		homes--
	}
	b.c.Homes = b.c.Homes.First(homes)
	noted, _ := window.Find(b.c.noted.Slice(), from)
	b.c.noted = b.c.noted.First(noted)
}

// note remembers which keys a patch touches: only those are stored again with the
// next snapshot of the state. The map is copied at the first change, since the
// conversation that the builder began from still has it.
func (b *builder) note(p state.Patch) {
	if !b.own {
		changed := map[state.KeyPath]uint64{}
		maps.Copy(changed, b.c.changed)
		b.c.changed, b.own = changed, true
	}
	for _, key := range p.Keys() {
		b.c.changed[key] = b.c.Seq
	}
}

// done ends the building and returns the conversation, with as many messages again
// as the window has: what is older would only take memory, and a cut at every step
// only time. The builder is not used any more: what it returns never changes.
func (b *builder) done(old window.Newest) *Conversation {
	c := b.c
	c.Snapshot = b.fold.Snapshot()
	front := c.Window.Opening
	shown, from := c.lastWindow(old)
	if c.Window = shown; c.Window.Opening != front {
		c.Front = nil
	}
	if c.Front == nil && c.Window.Opening != 0 {
		c.Front = c.messageAt(c.Window.Opening)
	}
	// The newest turn stays in any case: the next one starts with its record.
	stay := c.Messages.Len() - min(from, max(c.newestTurn(), 0))
	if first := c.Messages.Len() - 2*stay; first > stay {
		// Copied: a slice of the old array would keep all of it in memory.
		c.Messages = ListOf(append([]core.Message(nil), c.Messages.Slice()[first:]...))
		c.Places = ListOf(append([]window.Place(nil), c.Places.Slice()[first:]...))
		from -= first
		for c.Homes.Len() > 1 && c.Homes.At(0).Seq < c.Places.At(0).Sequence {
			c.Homes = c.Homes.Without(1)
		}
		noted, _ := window.Find(c.noted.Slice(), c.Places.At(0).Sequence)
		c.noted = c.noted.Without(noted)
		c.size = 0
		for i := range c.Messages.Len() {
			c.size += int32(messageSize(c.Messages.At(i)))
		}
	}
	c.First = int32(from)
	return c
}
