package window_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/window"
)

// said is a message of so many tokens.
func said(role core.Role, tokens int) core.Message {
	return core.Message{Role: role, Content: []core.Block{{Text: strings.Repeat("four", tokens-8)}}}
}

func user(tokens int) core.Message      { return said(core.RoleUser, tokens) }
func assistant(tokens int) core.Message { return said(core.RoleAssistant, tokens) }
func result(tokens int) core.Message    { return said(core.RoleTool, tokens) }

func TestTokensAreAFrameAndAQuarterOfTheBytes(t *testing.T) {
	tests := []struct {
		name    string
		message core.Message
		want    int
	}{
		{"nothing", core.Message{}, 8},
		{"text and what the provider wants back", core.Message{Content: []core.Block{{Text: "12345678"}, {Echo: []byte("1234")}}}, 11},
		{"calls", core.Message{ToolCalls: []core.ToolCall{{Name: "echo", Arguments: []byte(`{"a":12}`)}}}, 11},
		{"a result", core.Message{ToolResult: &core.ToolResult{Data: []byte(`"1234"`), Message: "12"}}, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := window.Tokens(tt.message); got != tt.want {
				t.Errorf("%d tokens, want %d", got, tt.want)
			}
		})
	}
}

func TestCutKeepsTheNewestWholeTurns(t *testing.T) {
	tests := []struct {
		name     string
		messages []core.Message
		budget   int
		want     int
	}{
		{"nothing is cut from nothing", nil, 100, 0},
		{"what fits stays", []core.Message{user(50), assistant(50)}, 100, 0},
		{"what is over the budget goes", []core.Message{user(50), assistant(50), user(50)}, 100, 1},
		{"a message that is too large ends the window", []core.Message{user(10), assistant(91), user(10)}, 100, 2},
		{"results stay with their turn", []core.Message{user(10), assistant(50), result(20), result(20), user(20)}, 100, 4},
		{"a turn stays with its results", []core.Message{user(10), assistant(40), result(20), result(20), user(20)}, 100, 1},
		{"the newest turn stays, however large", []core.Message{user(10), assistant(50), result(200), result(200)}, 100, 1},
		{"no budget is the default", []core.Message{user(10), assistant(31_991), user(9)}, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := window.Newest(tt.budget).Cut(tt.messages); got != tt.want {
				t.Errorf("begins at %d, want %d", got, tt.want)
			}
		})
	}
}

func TestRoomIsEstimatedByTheMeanOfWhatIsIn(t *testing.T) {
	measure := window.Newest(100).Measure()
	var got []int
	for _, m := range []core.Message{user(10), user(20), result(45), assistant(20), user(10)} {
		_, room := measure(m)
		got = append(got, room)
	}
	if diff := cmp.Diff([]int{9, 4, 1, 1, 0}, got); diff != "" {
		t.Errorf("room behind each message (-want +got):\n%s", diff)
	}
}
