package window

import (
	"reflect"

	"github.com/reveille-run/reveille/core"
)

// Shown is what a request shows of a thread: a lead, then the history from the beginning of
// a window on, large results as references, then what belongs to this request alone.
type Shown struct {
	lead   []core.Message
	part   History
	short  uint64 // large results before it are references
	reads  bool   // which say how the rest is read
	behind []core.Message
}

// Show returns the part of a history that a model sees under a window: the summary, which
// replaces everything up to w.Summary; the opening, which w.Opening names; the messages
// from w.First on, large results before w.Short as references. Summary and opening are nil
// if they do not exist. reads means that the model can read the rest of a shortened result.
func Show(h History, w core.Window, summary, opening *core.Message, reads bool) Shown {
	s := Shown{part: h.From(max(w.First, w.Summary+1)), short: w.Short, reads: reads}
	for _, m := range []*core.Message{summary, opening} {
		if m != nil {
			s.lead = append(s.lead, *m)
		}
	}
	if s.lead == nil && len(s.part.Messages) > 0 && s.part.Messages[0].Role != core.RoleUser {
		s.lead = []core.Message{core.UserMessage(LeftOut).WithID("context.left_out")}
	}
	return s
}

// Between returns the same with messages before and after it.
func (s Shown) Between(before, behind []core.Message) Shown {
	if len(before) > 0 {
		s.lead = append(before[:len(before):len(before)], s.lead...)
	}
	s.behind = behind
	return s
}

// Whole returns the history's own messages, if they are all that is shown. They must not be
// changed.
func (s *Shown) Whole() (messages []core.Message, ok bool) {
	if len(s.lead)+len(s.behind) > 0 || shortens(s.part, s.short) {
		return nil, false
	}
	return s.part.Messages, true
}

// leastLasting is how many messages a request has at least that is kept for the next one:
// fewer are copied as fast, and most of the threads that a process knows are short.
const leastLasting = 32

// Lasts reports whether it is worth keeping for a later request, which shows the same and
// more: there are many messages, and none of them belongs to this request alone.
func (s *Shown) Lasts() bool { return len(s.behind) == 0 && s.Len() >= leastLasting }

// Len is the number of messages.
func (s *Shown) Len() int { return len(s.lead) + len(s.part.Messages) + len(s.behind) }

// Copy returns the messages in a slice of the caller's.
func (s *Shown) Copy() []core.Message {
	messages := append(make([]core.Message, 0, s.Len()), s.lead...)
	return append(s.add(messages, 0), s.behind...)
}

// add appends the history's messages from an index on.
func (s *Shown) add(to []core.Message, from int) []core.Message {
	for i := from; i < len(s.part.Messages); i++ {
		if s.refers(i) {
			to = append(to, reference(&s.part.Messages[i], s.part.sequence(i), s.reads))
			continue
		}
		to = append(to, s.part.Messages[i])
	}
	return to
}

// refers reports whether a message of the history is shown as a reference.
func (s *Shown) refers(i int) bool {
	return s.part.sequence(i) < s.short && large(&s.part.Messages[i])
}

// Is reports whether messages are those that are shown.
func (s *Shown) Is(messages []core.Message) bool {
	if len(messages) != s.Len() || !sameAll(s.lead, messages[:len(s.lead)]) {
		return false
	}
	messages = messages[len(s.lead):]
	for i := range s.part.Messages {
		m := &s.part.Messages[i]
		if s.refers(i) {
			short := reference(m, s.part.sequence(i), s.reads)
			m = &short
		}
		if !Same(m, &messages[i]) {
			return false
		}
	}
	return sameAll(s.behind, messages[len(s.part.Messages):])
}

func sameAll(a, b []core.Message) bool {
	for i := range a {
		if !Same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// Same reports whether two messages are equal. It mostly compares a message with a copy of
// it, which shares its slices.
func Same(a, b *core.Message) bool {
	return shares(a, b) || a.ID == b.ID && a.Role == b.Role && reflect.DeepEqual(a, b)
}

// shares reports whether one message is a copy of the other.
func shares(a, b *core.Message) bool {
	return a.ID == b.ID && a.Role == b.Role && sharesItems(a.Content, b.Content) && sharesItems(a.ToolCalls, b.ToolCalls) &&
		a.ToolResult == b.ToolResult && a.RunID == b.RunID && a.Step == b.Step && a.Usage == b.Usage &&
		a.Model == b.Model && a.Provider == b.Provider && a.StopReason == b.StopReason && a.CreatedAt == b.CreatedAt &&
		a.Repair == b.Repair && a.Pending == b.Pending && a.Decided == b.Decided
}

func sharesItems[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 && (a == nil) == (b == nil) || len(a) > 0 && &a[0] == &b[0])
}
