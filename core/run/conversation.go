package run

import (
	"maps"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/window"
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
	places      list[window.Place] // of messages
	window      core.Window        // that the next step begins with
	first       int                // index of the first message that it shows
	toolless    []int              // of the newest turn, as its entry says
	opening     *core.Message      // what run was asked first, or the run was that it takes up; nil: not known
	openedAt    uint64             // sequence of opening
	summary     *summary           // stands for what was said before what the window shows; nil: there is none
	front       *core.Message      // that window.Opening names; nil: there is none, or it is not known
	noted       list[window.Place] // of failed inferences: what their steps came to about summaries
	homes       list[place]        // where the turns among messages stand in the agent's pool; empty: it has none
	snapshot    state.Snapshot
	totals      thread.Totals            // of run
	record      thread.RunRecord         // of run, when known
	stored      manifest                 // the newest state snapshot that is stored
	changed     map[state.KeyPath]uint64 // values that it does not have: the sequence of their last change
	turns       int                      // since that snapshot
	size        int                      // about, in bytes
	short       bool                     // older messages belong to the window, which were not read
	standing    *account.Standing        // of the tenant, after this process has charged the newest turn; nil: it has no limits
}

// place is where a thread stood in a pool of models behind a turn.
type place struct {
	thread.Member
	seq uint64
	run core.ID
	at  int64 // when the member said its last turn, unix milliseconds; 0: not known
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
	open          bool               // its beginning comes next
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
		b.kept, b.totals = entry.Run, thread.Totals{}
	}
	if entry.Superseded != nil {
		b.cut(entry.Superseded.From)
	} else if b.open {
		b.begin(&entry)
	}
	if entry.Member != nil {
		b.stand(&entry)
	}
	if entry.Failed != nil && entry.Window != nil {
		b.noted = b.noted.with(window.Place{Sequence: b.seq, Window: entry.Window})
	}
	if m := entry.Message; m != nil {
		if m.Role == core.RoleAssistant {
			b.toolless = entry.Toolless
		}
		b.say(m)
		b.places = b.places.with(window.Place{Sequence: b.seq, Window: entry.Window})
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

// begin takes the entry with which a run begins, behind a record that takes back. What
// begins otherwise than with input takes up the run before it, and what that was asked
// stays: see [loaded.findOpening], which reads the same.
func (b *builder) begin(entry *thread.Entry) {
	if m := entry.Message; m != nil && m.IsInput() {
		b.opening, b.openedAt = m, b.seq
	}
	b.open = false
}

// stand notes where a turn or a failed inference stands in a pool. A failed one is not
// said by anybody: what was said before it counts.
func (b *builder) stand(entry *thread.Entry) {
	p := place{Member: *entry.Member, seq: b.seq, run: entry.Run}
	if entry.Message != nil {
		p.at = entry.Message.CreatedAt
	} else if n := b.homes.len(); n > 0 {
		p.at = b.homes.items[n-1].at
	}
	b.homes = b.homes.with(p)
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
	first := b.places.len()
	for first > 0 && b.places.items[first-1].Sequence >= from {
		first--
		b.size -= messageSize(b.messages.items[first])
	}
	b.short = b.short || first < b.places.len() && min(from, b.places.items[0].Sequence) > 1
	b.messages, b.places = b.messages.first(first), b.places.first(first)
	homes := b.homes.len()
	for homes > 0 && b.homes.items[homes-1].seq >= from {
		homes--
	}
	b.homes = b.homes.first(homes)
	noted, _ := window.Find(b.noted.items, from)
	b.noted = b.noted.first(noted)
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
func (b *builder) done(old window.Newest) *conversation {
	c := b.conversation
	c.snapshot = b.fold.Snapshot()
	front := c.window.Opening
	if c.window, c.first = c.lastWindow(old); c.window.Opening != front {
		c.front = nil
	}
	if c.front == nil && c.window.Opening != 0 {
		c.front = c.messageAt(c.window.Opening)
	}
	// The newest turn stays in any case: its record says what the next one begins with.
	shown := c.messages.len() - min(c.first, max(c.newestTurn(), 0))
	if first := c.messages.len() - 2*shown; first > shown {
		// Copied: a slice of the old array would keep all of it in memory.
		c.messages = listOf(append([]core.Message(nil), c.messages.items[first:]...))
		c.places = listOf(append([]window.Place(nil), c.places.items[first:]...))
		c.first -= first
		for c.homes.len() > 1 && c.homes.items[0].seq < c.places.items[0].Sequence {
			c.homes = c.homes.without(1)
		}
		noted, _ := window.Find(c.noted.items, c.places.items[0].Sequence)
		c.noted = c.noted.without(noted)
		c.size = 0
		for i := range c.messages.items {
			c.size += messageSize(c.messages.items[i])
		}
	}
	return c
}

// lastWindow is the window of the newest turn, and the index of the first message that
// it shows. Where that turn's record does not say, or nobody has said one, it is the
// newest messages up to a size: from the next turn on its record counts. Of summaries it
// says what a failed inference behind that turn has come to, if one has.
func (c *conversation) lastWindow(old window.Newest) (w core.Window, first int) {
	turn, said := c.newestTurn(), uint64(0)
	if turn >= 0 {
		said = c.places.items[turn].Sequence
	}
	if turn >= 0 && c.places.items[turn].Window != nil {
		w = *c.places.items[turn].Window
		first, _ = window.Find(c.places.items, shownFrom(&w))
	} else if first = old.Cut(c.messages.slice()); first > 0 {
		w.First = c.places.items[first].Sequence
	}
	if n := c.noted.len(); n > 0 && c.noted.items[n-1].Sequence > said {
		noted := c.noted.items[n-1].Window
		w.Compact, w.Skipped = noted.Compact, noted.Skipped
	}
	return w, first
}

// newestTurn is the index of the newest turn; -1: there is none.
func (c *conversation) newestTurn() int {
	for i := c.messages.len() - 1; i >= 0; i-- {
		if c.messages.items[i].Role == core.RoleAssistant {
			return i
		}
	}
	return -1
}

// under puts a summary in the place of what it covers; nil: none. The conversation is one
// that nobody else has yet. What the newest turn's record says of an older summary counts
// no more, nor what stood before what that turn was shown.
func (c *conversation) under(s *summary) {
	c.summary = s
	if c.window.Summary == s.covers() {
		return
	}
	c.window.Summary, c.window.Opening, c.front = s.covers(), 0, nil
	if c.window.First <= c.window.Summary {
		c.window.First = 0
	}
	c.first, _ = window.Find(c.places.items, shownFrom(&c.window))
}

// messageAt is the message of a sequence, if it is known.
func (c *conversation) messageAt(seq uint64) *core.Message {
	if c.opening != nil && seq == c.openedAt {
		return c.opening
	}
	if i, found := window.Find(c.places.items, seq); found {
		m := c.messages.items[i]
		return &m
	}
	return nil
}

// shownFrom is the sequence from which on a window shows messages.
func shownFrom(w *core.Window) uint64 { return max(w.First, w.Summary+1) }

// messageSize is about what a message takes in memory, in bytes.
func messageSize(m core.Message) int {
	const message, block, call, result = 256, 80, 64, 128 // the structs
	size := message + len(m.ID) + len(m.Model) + len(m.Provider)
	for _, b := range m.Content {
		size += block + len(b.Text) + len(b.Echo) + len(b.Origin)
	}
	for _, c := range m.ToolCalls {
		size += call + len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Echo) + len(c.Origin)
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
	if c.front != nil && c.front != c.opening {
		size += messageSize(*c.front)
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
