package storetest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// faultVariable names the fault that a child process of this test shall have.
const faultVariable = "STORETEST_FAULT"

// TestEveryFaultIsFound runs the suite over backends that are wrong in one
// place each, in a process of their own, and wants the right clause to fail
// with a text that says what is wrong.
func TestEveryFaultIsFound(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Concat(faults, commitFaults, profileFaults, waitingFaults, listedFaults, eventualFaults) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), binary, "-test.run=^TestFaultyBackend$/^"+f.clause+"$")
			command.Env = append(os.Environ(), faultVariable+"="+f.name)
			output, err := command.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite passes a backend with this fault:\n%s", output)
			}
			for _, want := range []string{"--- FAIL: TestFaultyBackend/" + f.clause, f.text} {
				if !strings.Contains(string(output), want) {
					t.Errorf("the output lacks %q:\n%s", want, output)
				}
			}
		})
	}
}

// TestContractWithoutTransactions holds a right backend to the clauses that only
// those have whose Commit may stop halfway.
func TestContractWithoutTransactions(t *testing.T) {
	options := storetest.Options{Stop: stop}
	options.Run(t, func(*testing.T) store.Backend { return newPieces(memory.New()) })
}

// TestFaultyBackend runs only in the child processes.
func TestFaultyBackend(t *testing.T) {
	name := os.Getenv(faultVariable)
	if name == "" {
		t.Skip("runs in child processes only")
	}
	for _, f := range slices.Concat(faults, commitFaults, profileFaults, waitingFaults, listedFaults, eventualFaults) {
		if f.name == name {
			f.options.Run(t, func(*testing.T) store.Backend { return f.backend(memory.New()) })
			return
		}
	}
	t.Fatalf("there is no fault %q", name)
}
