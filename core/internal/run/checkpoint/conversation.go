package checkpoint

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/state"
)

// Conversation is what is committed of a thread up to a sequence, as far as a step needs
// it. It never changes once it is in the cache, so that a step that fails leaves it as it
// was, and any number of steps may read it. A step that needs another one copies it.
type Conversation struct {
	incarnation uint64

	Seq      uint64
	Run      core.ID // of the newest entry
	Step     int32   // of the newest entry that has one
	First    int32   // index of the first message that Window shows
	Messages List[core.Message]
	Places   List[window.Place] // of Messages
	Window   core.Window        // that the next step begins with
	Toolless []int              // of the newest turn, as its entry says
	Opening  Opening            // of Run, or of the run that it takes up
	Summary  *Summary           // replaces the messages before the window; nil: no summary
	Front    *core.Message      // that Window.Opening names; nil: no such message, or it is not known
	Prompt   string             // that the newest turn's entry names; empty: none, or not known
	Homes    List[Home]         // the places of the turns among Messages in the agent's pool; empty: it has none
	Snapshot state.Snapshot
	Totals   thread.Totals // of Run

	// Notes of the step of this process that has committed it, for the next one.
	Record   *thread.RunRecord    // of Run, which is not changed; nil: it is to be read
	Standing *accounting.Standing // of the tenant, after this process has charged the newest turn; nil: not known, or it has no limits
	Sent     *sent.Prompt         // of a recent turn's request; nil: not known
	Sum      window.Sum           // of the newest request's messages
	Kept     *window.Kept         // those messages, for one step at a time; nil: they are Messages, or too few to be kept

	noted   List[window.Place]       // of failed inferences: what their steps decided about summaries
	stored  map[state.KeyPath]uint64 // the values that the newest stored snapshot has, and the sequence after which each was stored last
	changed map[state.KeyPath]uint64 // values that it does not have: the sequence of their last change
	size    int32                    // about, in bytes
	shown   int32                    // of Kept, in bytes
	turns   int32                    // since that snapshot
	short   bool                     // older messages belong to the window, which were not read
}

// Home is the place of a thread in a pool of models after a turn.
type Home struct {
	thread.Member
	Seq uint64 // of the turn's record
	Run core.ID
	At  int64 // when the member said its last turn, unix milliseconds; 0: not known
}

// Empty is the Conversation of a thread without a log, in an incarnation of it.
// Its first step and it have one array of messages.
func Empty(incarnation uint64) *Conversation {
	return &Conversation{incarnation: incarnation, Messages: listFor[core.Message](0)}
}

// lastWindow is the window of the newest turn, and the index of the first message
// that it shows. If that turn's record has no window, or no turn exists, it is the
// newest messages up to a size: from the next turn on its record counts. If an
// inference failed after that turn, the window has that inference's note about
// summaries.
func (c *Conversation) lastWindow(old window.Newest) (w core.Window, first int) {
	turn, said := c.newestTurn(), uint64(0)
	if turn >= 0 {
		said = c.Places.At(turn).Sequence
	}
	if turn >= 0 && c.Places.At(turn).Window != nil {
		w = *c.Places.At(turn).Window
		first, _ = window.Find(c.Places.Slice(), shownFrom(&w))
	} else if first = old.Cut(c.Messages.Slice()); first > 0 {
		w.First = c.Seq + 1 // after results whose turn is lost
		if first < c.Places.Len() {
			w.First = c.Places.At(first).Sequence
		}
	}
	if n := c.noted.Len(); n > 0 && c.noted.At(n-1).Sequence > said {
		noted := c.noted.At(n - 1).Window
		w.Compact, w.Skipped = noted.Compact, noted.Skipped
	}
	return w, first
}

// newestTurn is the index of the newest turn; -1: no turn.
func (c *Conversation) newestTurn() int {
	for i := c.Messages.Len() - 1; i >= 0; i-- {
		if c.Messages.At(i).Role == core.RoleAssistant {
			return i
		}
	}
	return -1
}

// Under puts a summary in the place of the messages that it covers; nil: none. The
// Conversation must be one that no other step has yet. The newest turn's record of
// an older summary no longer counts, nor does the message before that turn's
// window.
func (c *Conversation) Under(s *Summary) {
	c.Summary = s
	if c.Window.Summary == s.Covers() {
		return
	}
	c.Window.Summary, c.Window.Opening, c.Front = s.Covers(), 0, nil
	if c.Window.First <= c.Window.Summary {
		c.Window.First = 0
	}
	first, _ := window.Find(c.Places.Slice(), shownFrom(&c.Window))
	c.First = int32(first)
}

// messageAt is the message of a sequence, if it is known.
func (c *Conversation) messageAt(seq uint64) *core.Message {
	if c.Opening.Message != nil && seq == c.Opening.Seq {
		return c.Opening.Message
	}
	if i, found := window.Find(c.Places.Slice(), seq); found {
		m := *c.Messages.At(i)
		return &m
	}
	return nil
}

// shownFrom is the sequence from which on a window shows messages.
func shownFrom(w *core.Window) uint64 { return max(w.First, w.Summary+1) }

// messageSize is about what a message takes in memory, in bytes: its structs, with their
// places in lists that have room to grow, and its texts, with what the allocator rounds up.
func messageSize(m *core.Message) int {
	const message, call, result, turn = 240, 112, 136, 148
	size, texts := message, len(m.ID)+len(m.Model)+len(m.Provider)
	if m.Role == core.RoleAssistant { // its window and its usage
		size += turn
	}
	blocks, said := blocksSize(m.Content)
	size, texts = size+blocks, texts+said
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		size += call
		texts += len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Echo) + len(c.Origin)
	}
	if r := m.ToolResult; r != nil {
		size += result
		texts += len(r.CallID) + len(r.Name) + len(r.Data) + len(r.Message)
		blocks, said := blocksSize(r.Content)
		size, texts = size+blocks, texts+said
	}
	return size + rounded(texts)
}

// blocksSize is what blocks take: their structs, and their texts and files.
func blocksSize(content []core.Block) (size, texts int) {
	const block, annotation = 168, 160
	for i := range content {
		b := &content[i]
		size += block + annotation*len(b.Annotations)
		texts += len(b.Text) + len(b.Data) + len(b.Echo) + len(b.Origin)
		for j := range b.Annotations {
			a := &b.Annotations[j]
			texts += len(a.URL) + len(a.Title) + len(a.Quote)
		}
	}
	return size, texts
}

// rounded is what the allocator takes for so many bytes of text.
func rounded(bytes int) int { return bytes + bytes/8 }

// bytes is about the memory that the conversation takes, with its place in the cache: the
// run's first message stays with it when the window has moved on.
func (c *Conversation) bytes() int {
	const fixed, record, changed = 1600, 900, 96
	size := fixed + int(c.size) + int(c.shown) + c.Snapshot.Size() + changed*len(c.changed)
	if c.Record != nil {
		size += record + rounded(len(c.Record.Response)+len(c.Record.Request))
	}
	if c.Summary != nil {
		size += messageSize(&c.Summary.Message)
	}
	if c.Opening.Message != nil && !c.hasOpening() {
		size += messageSize(c.Opening.Message)
	}
	if c.Front != nil && c.Front != c.Opening.Message {
		size += messageSize(c.Front)
	}
	return size
}

// KeepShown notes the messages of the newest request for the next step; nil: there is nothing
// to note. The step that calls it does not use them any more.
func (c *Conversation) KeepShown(k *window.Kept) {
	if c.Kept, c.shown = k, 0; k != nil {
		c.shown = int32(k.Size())
		k.Release()
	}
}

// hasOpening reports whether the run's first message is one of the messages. It
// looks from their end: a run is seldom long.
func (c *Conversation) hasOpening() bool {
	for i := c.Messages.Len() - 1; i >= 0; i-- {
		if c.Messages.At(i).ID == c.Opening.Message.ID {
			return true
		}
	}
	return false
}

// SummaryNote is a step's decision about summaries, for the record of an inference
// that fails: without it each later step would look for the same summary, announce
// it and meter it again. The step's request for a summary is not in it, the next
// step asks again.
func (c *Conversation) SummaryNote() *core.Window {
	return &core.Window{Summary: c.Summary.Covers(), Compact: c.Window.Compact, Skipped: c.Window.Skipped}
}
