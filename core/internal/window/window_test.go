package window_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
)

func user(n int) core.Message { return core.UserMessage(strings.Repeat("x", n)) }

func turn(n, calls int) core.Message {
	m := core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("y", n)}}}
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: strconv.Itoa(i)})
	}
	return m
}

func result(n int) core.Message {
	return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: strings.Repeat("z", n)}}
}

func TestTokensAreAFrameAndAQuarterOfTheBytes(t *testing.T) {
	tests := []struct {
		name string
		m    core.Message
		want int
	}{
		{"nothing", core.Message{}, 8},
		{"400 bytes of text", user(400), 108},
		{"reasoning with its echo", core.Message{Content: []core.Block{{Text: strings.Repeat("a", 40), Echo: []byte(strings.Repeat("b", 40))}}}, 28},
		{"a call", core.Message{ToolCalls: []core.ToolCall{{Name: "echo", Arguments: []byte(`{"text":"abcd"}`)}}}, 12},
		{"a signed call", core.Message{ToolCalls: []core.ToolCall{{Name: "echo", Arguments: []byte(`{}`), Echo: []byte(strings.Repeat("b", 394)), Origin: "a/b"}}}, 108},
		{"an image", core.Message{Content: []core.Block{{Type: core.BlockFile, MediaType: "image/png", Data: make([]byte, 200_000)}}}, 1608},
		{"a text file", core.Message{Content: []core.Block{{Type: core.BlockFile, MediaType: "text/plain", Data: make([]byte, 400)}}}, 108},
		{"a document of 99,999 bytes", core.Message{Content: []core.Block{{Type: core.BlockFile, MediaType: "application/pdf", Data: make([]byte, 99_999)}}}, 3208},
		{"a document elsewhere", core.Message{Content: []core.Block{{Type: core.BlockFile, MediaType: "application/pdf", URL: "https://example.com/a"}}}, 1608},
		{"a result with an image", core.Message{ToolResult: &core.ToolResult{Message: "1234", Content: []core.Block{{Type: core.BlockText, Text: "1234"}, {Type: core.BlockFile, MediaType: "image/png", Data: make([]byte, 9)}}}}, 1610},
		{"a result", core.Message{ToolResult: &core.ToolResult{Data: []byte(`"1234567890"`), Message: "1234"}}, 12},
	}
	for _, tt := range tests {
		if got := window.Tokens(tt.m); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", tt.name, got, tt.want)
		}
	}
}

// Each message of 368 bytes costs 100 tokens.
func TestCut(t *testing.T) {
	tests := []struct {
		name     string
		messages []core.Message
		budget   int
		want     int
	}{
		{"nothing", nil, 100, 0},
		{"everything fits", []core.Message{user(368), turn(368, 0)}, 200, 0},
		{"the newest that fit", []core.Message{user(368), turn(368, 0), user(368), turn(368, 0)}, 299, 2},
		{"exactly the budget", []core.Message{user(368), turn(368, 0), user(368), turn(368, 0)}, 300, 1},
		{"the newest fits however large it is", []core.Message{user(368), turn(368, 0), user(36800)}, 100, 2},
		{"so does a newest turn with its results", []core.Message{user(368), turn(0, 2), result(36800), result(36800)}, 100, 1},
		{"results go with their turn", []core.Message{user(368), turn(368, 2), result(368), result(368), user(368)}, 399, 4},
		{"results that fit do not part from a turn that does not", []core.Message{turn(368, 1), result(0), user(0)}, 50, 2},
		{"a budget of 0 is 32,000 tokens", []core.Message{user(4 * 31_000), user(4 * 31_000)}, 0, 1},
	}
	for _, tt := range tests {
		if got := window.Newest(tt.budget).Cut(tt.messages); got != tt.want {
			t.Errorf("%s: the window begins at %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A window never begins with a result, never holds more than its budget but for
// its newest turn, and a larger budget never shows less. A conversation that was
// cut before to a larger budget has the same window.
func TestWindowOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 2000)
		var messages []core.Message
		for range rapid.IntRange(0, 20).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "user") {
				messages = append(messages, user(size.Draw(t, "size")))
			}
			calls := rapid.IntRange(0, 3).Draw(t, "calls")
			messages = append(messages, turn(size.Draw(t, "size"), calls))
			for range calls {
				messages = append(messages, result(size.Draw(t, "size")))
			}
		}
		budget := rapid.IntRange(1, 3000).Draw(t, "budget")
		more := budget + rapid.IntRange(0, 3000).Draw(t, "more")
		first := window.Newest(budget).Cut(messages)
		if len(messages) == 0 {
			return
		}
		if first >= len(messages) {
			t.Fatalf("the window is empty")
		}
		if messages[first].Role == core.RoleTool {
			t.Fatalf("the window begins with a result at %d", first)
		}
		newest := len(messages) - 1
		for messages[newest].Role == core.RoleTool {
			newest--
		}
		tokens := 0
		for _, m := range messages[first:] {
			tokens += window.Tokens(m)
		}
		if tokens > budget && first != newest {
			t.Fatalf("a window of %d tokens begins at %d, the budget is %d and the newest turn at %d", tokens, first, budget, newest)
		}
		wide := window.Newest(more).Cut(messages)
		if wide > first {
			t.Fatalf("a budget of %d shows from %d, one of %d from %d", budget, first, more, wide)
		}
		if again := wide + window.Newest(budget).Cut(messages[wide:]); again != first {
			t.Fatalf("cut to %d first, the window begins at %d instead of %d", more, again, first)
		}
	})
}

func TestRoomIsEstimatedByTheMeanOfWhatIsIn(t *testing.T) {
	measure := window.Newest(100).Measure()
	var got []int
	for _, m := range []core.Message{user(8), user(48), result(148), turn(48, 0), user(8)} {
		_, room := measure(m)
		got = append(got, room)
	}
	if diff := cmp.Diff([]int{9, 4, 1, 1, 0}, got); diff != "" {
		t.Errorf("room behind each message (-want +got):\n%s", diff)
	}
}
