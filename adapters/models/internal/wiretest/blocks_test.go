package wiretest

import (
	"fmt"
	"strings"
	"testing"
)

// conversationOf makes messages of the Messages API of words: whether a turn thinks before it
// calls, or ends, and what a message of the user has.
func conversationOf(words ...string) string {
	var messages []string
	for i, word := range words {
		result := fmt.Sprintf(`{"type":"tool_result","tool_use_id":"c%d"}`, i-1)
		call := fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"do","input":{}}`, i)
		messages = append(messages, map[string]string{
			"text":         `{"role":"user","content":[{"type":"text","text":"Go on."}]}`,
			"results":      `{"role":"user","content":[` + result + `]}`,
			"results+text": `{"role":"user","content":[` + result + `,{"type":"text","text":"It is noon."}]}`,
			"thinks":       `{"role":"assistant","content":[{"type":"thinking"},` + call + `]}`,
			"calls":        `{"role":"assistant","content":[` + call + `]}`,
			"ends":         `{"role":"assistant","content":[{"type":"text","text":"Done."}]}`,
		}[word])
	}
	return strings.Join(messages, ",")
}

func TestWhereAToolLoopMustBeginWithThinking(t *testing.T) {
	const refused = "a final assistant message must start with a thinking block while thinking is enabled"
	tests := []struct {
		name     string
		thinking string
		messages string
		want     string
	}{
		{"no loop", "enabled", "text", ""},
		{"it thinks", "enabled", "text thinks results", ""},
		{"it thinks once", "enabled", "text thinks results calls results", ""},
		{"it thinks late", "enabled", "text calls results thinks results", "messages[3]: " + refused},
		{"it does not", "enabled", "text calls results", "messages[1]: " + refused},
		{"it does not, adaptively", "adaptive", "text calls results", ""},
		{"it does not, without thinking", "disabled", "text calls results", ""},
		{"a person behind", "enabled", "text calls results+text", "messages[1]: " + refused},
		{"a person between, or a plugin", "enabled", "text calls results+text thinks results", ""},
		{"a plugin between", "enabled", "text thinks results+text calls results", ""},
		{"neither thinks", "enabled", "text calls results+text calls results", "messages[3]: " + refused},
		{"a loop that has ended", "enabled", "text thinks results ends text calls results", "messages[5]: " + refused},
		{"a loop that ended without", "enabled", "text calls results ends text", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			budget := ""
			if test.thinking == "enabled" {
				budget = `,"budget_tokens":1024`
			}
			body := `{"max_tokens":2048,"thinking":{"type":"` + test.thinking + `"` + budget + `},"messages":[` + conversationOf(strings.Fields(test.messages)...) + `]}`
			got := ""
			if err := CheckAnthropic(body); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}
