package launch

import "testing"

func TestOneToolLeftBehindEndsAProcessThatIsFrozen(t *testing.T) {
	for invocations, want := range map[int]int{0: 1, 1: 1, 2: 16, 64: 16} {
		if got := endsAt(invocations); got != want {
			t.Errorf("a process with %d invocations at once ends at %d tools, want %d", invocations, got, want)
		}
	}
}
