package host

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// state is the third field of /proc/<pid>/stat: R, S, T (stopped)...
func state(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func TestSandboxIsFrozenBetweenInvocations(t *testing.T) {
	warm := function("event")
	warm.Name, warm.NoFreeze = "warm", true
	h := newHost(t, function("event"), warm)
	for range 3 {
		if _, err := invoke(t, h, "event", `{"do":"pid"}`); err != nil {
			t.Fatal(err)
		}
		if got := state(t, h.Starts()[0].PID); got != "T" {
			t.Errorf("state between invocations = %s, want T", got)
		}
	}
	if _, err := invoke(t, h, "warm", `{"do":"pid"}`); err != nil {
		t.Fatal(err)
	}
	if got := state(t, h.Starts()[1].PID); got == "T" {
		t.Error("a sandbox that must not be frozen is")
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	h := newHost(t, function("event"))
	if _, err := invoke(t, h, "event", `{"do":"pid"}`); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.Starts()[0].PID, 0); err != syscall.ESRCH {
		t.Errorf("the frozen process is still there: %v", err)
	}
}
