//go:build !race

package pattern_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

// The race detector makes a sync.Pool, which regexp keeps its machines in, forget
// at random, so that the test is left out under it.
func TestMatchAllocatesOncePerCall(t *testing.T) {
	c := call("Bash", `{"command":"rm -rf /tmp/x","timeout":5}`)
	for text, want := range map[string]bool{
		"Edit": false, "*": true, "/ash/": true, "Bash(*rm*)": true, `Bash(command ~ "*rm -rf*", timeout = "5")`: true,
		`Bash(command =~ "rm +-rf")`: true, `Bash(*.* !~ "x")`: false,
	} {
		p := parse(t, text)
		if got := p.Match(c); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if n := testing.AllocsPerRun(100, func() { p.Match(c) }); n != 0 {
			t.Errorf("%s allocates %v objects after the first match", text, n)
		}
	}
	p := parse(t, `Bash(command ~ "*rm -rf*")`)
	arguments := json.RawMessage(`{"command":"rm -rf /tmp/x","timeout":5}`)
	if n := testing.AllocsPerRun(100, func() { p.Match(pattern.NewCall("Bash", arguments, nil)) }); n > 7 {
		t.Errorf("a first match allocates %v objects, want at most 7", n)
	}
	if n := testing.AllocsPerRun(100, func() { p.Match(pattern.NewCall("Edit", arguments, nil)) }); n > 1 {
		t.Errorf("a call of another tool allocates %v objects, want at most 1", n)
	}
}
