package runtime

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestSixteenToolsLeftBehindMakeAProcessUnhealthy(t *testing.T) {
	for _, n := range []int{0, 1, 15} {
		if err := healthy(n); err != nil {
			t.Errorf("with %d tools left behind: %v", n, err)
		}
	}
	want := "16 tools do not end when they are told to, and still run; fewer than 16 are allowed"
	if err := healthy(16); core.CodeOf(err) != core.CodeUnavailable || err.Error() != want {
		t.Errorf("with 16 tools left behind: %v, want unavailable: %s", err, want)
	}
}
