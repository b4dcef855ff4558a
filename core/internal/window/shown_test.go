package window_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
)

// Messages differ by any one of their fields.
func TestSameLooksAtEachField(t *testing.T) {
	whole := func() core.Message {
		return core.Message{
			ID: "1", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "a"}}, ToolCalls: []core.ToolCall{{ID: "c"}},
			ToolResult: &core.ToolResult{CallID: "c"}, RunID: core.ID{1}, Step: 1, Usage: &core.Usage{Input: 1}, Model: "m", Provider: "p",
			StopReason: core.StopEndTurn, CreatedAt: 1, Repair: true, Pending: true, Decided: true,
		}
	}
	a, equal := whole(), whole()
	if copied := a; !window.Same(&a, &copied) || !window.Same(&a, &equal) {
		t.Error("a copy and an equal message are not the same")
	}
	if short := a; !window.Same(&core.Message{}, &core.Message{}) || window.Same(&a, func() *core.Message { short.Content = short.Content[:0]; return &short }()) {
		t.Error("a message without its content is the same")
	}
	fields := reflect.TypeFor[core.Message]()
	for i := range fields.NumField() {
		other := a
		field := reflect.ValueOf(&other).Elem().Field(i)
		if field.IsZero() {
			t.Errorf("the test does not set %s", fields.Field(i).Name)
		}
		field.SetZero()
		if window.Same(&a, &other) || window.Same(&other, &a) {
			t.Errorf("a message without its %s is the same", fields.Field(i).Name)
		}
	}
}

// asked are the texts of messages.
func asked(messages []core.Message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.ID+" "+m.Text())
	}
	return texts
}

// numbered gives messages the ids that a log gives them.
func numbered(h window.History) window.History {
	for i := range h.Messages {
		h.Messages[i].ID = fmt.Sprint("m", h.Places[i].Sequence)
	}
	return h
}

// What is kept of a request is in the next one, unless that shows something else; and what
// an earlier request has received stays what it was.
func TestKeptMessagesAreThoseThatAreShown(t *testing.T) {
	large := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c", Message: strings.Repeat("z", 9000)}}
	h := numbered(listed(5, user(1), turn(2, 1), large, turn(3, 0), user(4), turn(5, 0), user(6), turn(7, 0), user(8)))
	until := func(n int) window.History { return window.History{Messages: h.Messages[:n], Places: h.Places[:n]} }
	without := window.History{ // the messages at 9 and 10 were withdrawn, and others came
		Messages: slices.Concat(h.Messages[:4], h.Messages[6:]), Places: slices.Concat(h.Places[:4], h.Places[6:]),
	}
	opening, summary := core.UserMessage("asked").WithID("o"), core.UserMessage("so far").WithID("s")
	context := func(text string) []core.Message {
		return []core.Message{{ID: "context.a", Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: text}}}}
	}
	show := func(h window.History, w core.Window, summary, opening *core.Message, reads bool, before ...core.Message) window.Shown {
		return window.Show(h, w, summary, opening, reads).Between(before, nil)
	}
	tests := []struct {
		name   string
		first  window.Shown
		second window.Shown
		shares bool // the second continues the first
	}{
		{"more messages", show(until(5), core.Window{}, nil, &opening, true), show(until(7), core.Window{}, nil, &opening, true), true},
		{"the same", show(until(5), core.Window{}, nil, nil, true), show(until(5), core.Window{}, nil, nil, true), true},
		{"the same with a reference", show(until(5), core.Window{Short: 8}, nil, nil, true), show(until(6), core.Window{Short: 8}, nil, nil, true), true},
		{"an equal context", show(until(5), core.Window{}, nil, nil, true, context("a")...), show(until(6), core.Window{}, nil, nil, true, context("a")...), true},
		{"fewer messages", show(until(6), core.Window{}, nil, &opening, true), show(until(5), core.Window{}, nil, &opening, true), false},
		{"other messages", show(until(6), core.Window{}, nil, nil, true), show(without, core.Window{}, nil, nil, true), false},
		{"a later beginning", show(until(6), core.Window{}, nil, &opening, true), show(until(7), core.Window{First: 6}, nil, &opening, true), false},
		{"a summary", show(until(6), core.Window{}, nil, nil, true), show(until(7), core.Window{Summary: 8}, &summary, nil, true), false},
		{"a summary in place of the opening", show(until(6), core.Window{First: 6}, nil, &opening, true), show(until(7), core.Window{First: 6}, &summary, nil, true), false},
		{"another context", show(until(6), core.Window{}, nil, nil, true, context("a")...), show(until(6), core.Window{}, nil, nil, true, context("b")...), false},
		{"a context that is gone", show(until(6), core.Window{}, nil, nil, true, context("a")...), show(until(6), core.Window{}, nil, nil, true), false},
		{"a result that becomes a reference", show(until(6), core.Window{}, nil, nil, true), show(until(6), core.Window{Short: 8}, nil, nil, true), false},
		{"references that cannot be read", show(until(6), core.Window{Short: 8}, nil, nil, true), show(until(6), core.Window{Short: 8}, nil, nil, false), false},
		{"nothing of the history", show(until(0), core.Window{}, nil, &opening, true), show(until(3), core.Window{}, nil, &opening, true), false},
	}
	for _, tt := range tests {
		kept := (*window.Kept)(nil).Borrow()
		first := kept.Messages(&tt.first)
		was := asked(tt.first.Copy())
		second := kept.Messages(&tt.second)
		if diff := cmp.Diff(asked(tt.second.Copy()), asked(second)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(was, asked(first)); diff != "" {
			t.Errorf("%s: the first request afterwards (-want +got):\n%s", tt.name, diff)
		}
		if !tt.second.Is(second) || tt.second.Len() != len(second) || cap(second) != len(second) {
			t.Errorf("%s: the %d messages are not those that are shown", tt.name, len(second))
		}
		if tt.shares && len(second) == len(first) && &second[0] != &first[0] || !tt.shares && &second[0] == &first[0] {
			t.Errorf("%s: the second shares the slice of the first: %v", tt.name, !tt.shares)
		}
	}
}

// A step that finds them in use has separate ones. What transforms have written into is not
// shown again, and no model has received it.
func TestKeptMessagesBelongToOneStep(t *testing.T) {
	h := numbered(listed(1, user(1), turn(2, 0), user(3)))
	s := window.Show(h, core.Window{}, nil, nil, true)
	mine := (*window.Kept)(nil).Borrow()
	first, apart := mine.Messages(&s), mine.Apart(&s)
	if other := mine.Borrow(); other == mine || &other.Messages(&s)[0] == &first[0] || &other.Apart(&s)[0] == &apart[0] {
		t.Error("two steps have the same messages")
	}
	mine.Release()
	if again := mine.Borrow(); again != mine || &again.Messages(&s)[0] != &first[0] || &again.Apart(&s)[0] != &apart[0] {
		t.Error("a later step has other messages")
	}
	apart[1] = core.UserMessage("changed")
	if s.Is(apart) || !s.Is(first) || h.Messages[1].ID != "m2" {
		t.Error("a changed message is shown, or a model or the history has it")
	}
	if got := mine.Size(); got < 6*150 || got > 6*300 {
		t.Errorf("two times three messages take %d bytes", got)
	}
	mine.Forget()
	if again := mine.Apart(&s); !s.Is(again) || &again[0] == &apart[0] || &mine.Messages(&s)[0] != &first[0] {
		t.Errorf("after a change %v are shown", asked(again))
	}
}

// A request with messages behind the conversation has its own slice, and so does one with
// messages before it; else it is the history's.
func TestShownIsTheHistoryWhereNothingIsAdded(t *testing.T) {
	h := numbered(listed(1, user(1), turn(2, 0)))
	note := []core.Message{core.UserMessage("note").WithID("n")}
	tests := []struct {
		name  string
		shown window.Shown
		whole bool
		want  []string
	}{
		{"alone", window.Show(h, core.Window{}, nil, nil, true), true, []string{"m1 x", "m2 yy"}},
		{"before", window.Show(h, core.Window{}, nil, nil, true).Between(note, nil), false, []string{"n note", "m1 x", "m2 yy"}},
		{"behind", window.Show(h, core.Window{}, nil, nil, true).Between(nil, note), false, []string{"m1 x", "m2 yy", "n note"}},
		{"a turn first", window.Show(h, core.Window{First: 2}, nil, nil, true), false, []string{"context.left_out (What was said before is left out.)", "m2 yy"}},
	}
	for _, tt := range tests {
		whole, ok := tt.shown.Whole()
		if ok != tt.whole || ok && &whole[0] != &h.Messages[0] {
			t.Errorf("%s: whole %v", tt.name, ok)
		}
		if diff := cmp.Diff(tt.want, asked(tt.shown.Copy())); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		for i := range tt.want {
			changed := tt.shown.Copy()
			changed[i].StopReason = core.StopMaxTokens
			if !tt.shown.Is(tt.shown.Copy()) || tt.shown.Is(changed) || tt.shown.Is(changed[1:]) {
				t.Errorf("%s: a change of message %d is not seen", tt.name, i)
			}
		}
	}
}

// From 32 messages on a request is kept for the next one, unless some of it belongs to it alone.
func TestLongRequestsLast(t *testing.T) {
	note := []core.Message{core.UserMessage("note")}
	for _, tt := range []struct {
		messages       int
		before, behind []core.Message
		want           bool
	}{{31, nil, nil, false}, {32, nil, nil, true}, {30, note, nil, false}, {31, note, nil, true}, {40, nil, note, false}} {
		s := window.Show(listed(1, slices.Repeat([]core.Message{user(1)}, tt.messages)...), core.Window{}, nil, nil, true)
		if s = s.Between(tt.before, tt.behind); s.Lasts() != tt.want {
			t.Errorf("%d messages, %d before and %d behind them: %v, want %v", tt.messages, len(tt.before), len(tt.behind), s.Lasts(), tt.want)
		}
	}
}
