package scripted_test

import (
	"strings"
	"testing"
)

func TestHelpListsTheRules(t *testing.T) {
	for _, asked := range []string{"help", " HELP ", "Tell me what you can do", "tell me WHAT you can do"} {
		var said strings.Builder
		deltas := 0
		for _, line := range ask(t.Context(), user(asked)) {
			if text, ok := strings.CutPrefix(line, "text "); ok {
				said.WriteString(text)
				deltas++
			}
		}
		for _, rule := range []string{`"echo: X"`, `"parallel: A, B"`, `"think: X"`, `"slow: 20"`, `"cite: URL"`, `"fail"`, `"approve: X"`, `"ask: X"`, `"state: {...}"`, `"call: TOOL {...}"`, `"team: NAME PROMPT | NAME PROMPT"`} {
			if !strings.Contains(said.String(), rule) {
				t.Errorf("%q: %q does not name %s", asked, &said, rule)
			}
		}
		if deltas < 2 {
			t.Errorf("%q: %d deltas, want 2 or more", asked, deltas)
		}
	}
	if got := ask(t.Context(), user("help me")); got[0] != "text You said:" {
		t.Errorf("help me: %q, want it said back", got)
	}
}
