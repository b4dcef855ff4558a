package window_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
)

// history gives messages the sequences 10, 11, ...
func history(messages ...core.Message) window.History {
	h := window.History{Messages: messages}
	for i := range messages {
		h.Places = append(h.Places, window.Place{Sequence: uint64(10 + i)})
	}
	return h
}

func TestTargetIsTheNewestClosedTurn(t *testing.T) {
	said := core.UserMessage("hi")
	mend := core.Message{Role: core.RoleUser, Repair: true}
	tests := []struct {
		name     string
		history  window.History
		keep     int
		want     uint64
		messages int
		ok       bool
	}{
		{"nothing", history(), 0, 0, 0, false},
		{"only a question", history(said), 0, 0, 0, false},
		{"a turn", history(said, turn(1, 0)), 0, 11, 2, true},
		{"one that is to be kept", history(said, turn(1, 0)), 1, 0, 0, false},
		{"one before what is kept", history(said, turn(1, 0), said), 1, 11, 2, true},
		{"less than nothing is kept", history(said, turn(1, 0)), -3, 11, 2, true},
		{"a round", history(said, turn(1, 2), result(1), result(1)), 0, 13, 4, true},
		{"a round that is open", history(said, turn(1, 2), result(1)), 0, 0, 0, false},
		{"a turn before one that is open", history(said, turn(1, 0), said, turn(1, 1)), 0, 11, 2, true},
		{"a round of which a result is to be kept", history(said, turn(1, 0), turn(1, 2), result(1), result(1)), 1, 11, 2, true},
		{"a result without its turn", history(result(1), said, said), 0, 0, 0, false},
		{"more to keep than there is", history(said, turn(1, 0)), 9, 0, 0, false},
		{"an answer that is to be mended", history(said, turn(1, 0), mend), 0, 0, 0, false},
		{"one that was", history(said, turn(1, 0), mend, turn(1, 0)), 0, 13, 4, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			upTo, messages, ok := window.Target(tt.history, tt.keep)
			if upTo != tt.want || messages != tt.messages || ok != tt.ok {
				t.Errorf("up to %d, %d messages, %v; want %d, %d, %v", upTo, messages, ok, tt.want, tt.messages, tt.ok)
			}
		})
	}
}

func TestTranscriptSaysWhoSaidWhat(t *testing.T) {
	asked := core.UserMessage("what is this?")
	asked.Content = append(asked.Content, core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")})
	called := core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: "I look"}},
		ToolCalls: []core.ToolCall{{Name: "look", Arguments: json.RawMessage(`{"at":"it"}`)}}}
	found := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Name: "look", Data: json.RawMessage(`"a cat"`)}}
	drawn := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Name: "draw", Content: []core.Block{{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}}}}
	mend := core.UserMessage("[again]")
	mend.Repair = true
	h := history(core.Message{Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: "be kind"}}}, asked, called, found, drawn, mend)
	want := "[User]: what is this?\n[User]: (a file: image/png)\n\n[Assistant]: I look\n[Call of look]: {\"at\":\"it\"}\n\n[Result of look]: \"a cat\"\n\n[Result of draw]: (a file: image/png)\n\n[Note]: [again]"
	got, from := window.Transcript(h, 1000)
	if diff := cmp.Diff(want, got); diff != "" || from != 0 {
		t.Errorf("from %d (-want +got):\n%s", from, diff)
	}
	if n := window.TranscriptSize(&h.Messages[3]); n != len("[Result of look]: \"a cat\"")+2 {
		t.Errorf("the result takes %d bytes", n)
	}
}

// What does not fit is left out from its beginning, and the text says so; the newest
// message is there in any case.
func TestTranscriptHasTheNewestMessages(t *testing.T) {
	h := history(core.UserMessage("one"), core.UserMessage("two"), core.UserMessage("three"))
	tests := []struct {
		most int
		want string
		from uint64
	}{
		{40, "[older messages are left out]\n\n[User]: two\n\n[User]: three", 11}, // they take 13, 13 and 15 bytes
		{41, "[User]: one\n\n[User]: two\n\n[User]: three", 0},
		{28, "[older messages are left out]\n\n[User]: two\n\n[User]: three", 11},
		{27, "[older messages are left out]\n\n[User]: three", 12},
		{0, "[older messages are left out]\n\n[User]: three", 12},
	}
	for _, tt := range tests {
		if got, from := window.Transcript(h, tt.most); got != tt.want || from != tt.from {
			t.Errorf("in %d bytes: %q from %d, want %q from %d", tt.most, got, from, tt.want, tt.from)
		}
	}
}

func TestTranscriptShortensWhatIsLong(t *testing.T) {
	long := strings.Repeat("x", 2047) + "é" // its last character would be cut in two
	got, _ := window.Transcript(history(core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Name: "read", Message: long}}), 1<<20)
	if want := "[Result of read]: " + strings.Repeat("x", 2047) + " [the first 2047 of 2049 bytes]"; got != want {
		t.Errorf("%q", got[max(0, len(got)-60):])
	}
	whole := strings.Repeat("x", 24<<10)
	if got, _ := window.Transcript(history(core.UserMessage(whole)), 1<<20); got != "[User]: "+whole {
		t.Errorf("a message of 24 KB is %q", got[len(got)-60:])
	}
	if got, _ := window.Transcript(history(core.UserMessage(whole+"y")), 1<<20); got != "[User]: "+whole+" [the first 24576 of 24577 bytes]" {
		t.Errorf("a longer one is %q", got[len(got)-60:])
	}
}

func TestSummaryMessageIsTheSameEachTime(t *testing.T) {
	want := core.Message{ID: "summary.12", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "<conversation-summary>\nthey met\n</conversation-summary>"}}}
	if diff := cmp.Diff(want, window.SummaryMessage(12, "they met")); diff != "" {
		t.Error(diff)
	}
}
