package host_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// twoLevels is a run whose child waits for a run that waits for a person.
type twoLevels struct{ parent, child, below core.ThreadKey }

// TestTwoLevelsWhateverFails runs a delegation of two levels with an approval below, for every
// operation of the store that it takes, with a fault there: the approval is given, or the run
// above is cancelled. Nothing is lost, and in the end every run is over.
func TestTwoLevelsWhateverFails(t *testing.T) {
	for _, approve := range []bool{true, false} {
		for _, fault := range faults {
			t.Run(fmt.Sprintf("approved %t/%s", approve, fault.name), func(t *testing.T) {
				operations := 0
				for k, reached := 1, true; reached; k++ {
					synctest.Test(t, func(t *testing.T) {
						reached = familyWithFault(t, fault, k, approve)
						if reached {
							operations++
						}
					})
				}
				if operations < 40 {
					t.Errorf("%d operations had the fault", operations)
				}
			})
		}
	}
}

func familyWithFault(t *testing.T, fault fault, k int, approve bool) (reached bool) {
	r := newRig(t)
	way := newWay(r.store)
	way.fault, way.at = fault, k
	process := r.process("first", way, withHelper)
	// under does something in a process whose store has the fault, or again in the next one.
	under := func(do func(process *host.Host) error, keys ...core.ThreadKey) {
		t.Helper()
		begun := r.through(way, process, func() (mailbox.Receipt, error) { return mailbox.Receipt{}, do(process) })
		if way.isDead() || way.isAsleep() {
			process = r.process("second", r.store, withHelper)
		}
		r.settle(process, keys...)
		if _, refused := begun(); refused != nil {
			if err := do(process); err != nil && core.CodeOf(err) != core.CodeNotFound { // it is cancelled
				t.Fatalf("operation %d: %v", k, err)
			}
		}
		r.settle(process, keys...)
	}
	s := submission("t1", `call: delegate {"prompt":"call: delegate {\"prompt\":\"call: ask\"}"}`)
	s.Key.Value = "once"
	f := twoLevels{parent: s.Thread}
	var receipt mailbox.Receipt
	under(func(process *host.Host) (err error) {
		receipt, err = process.Submit(t.Context(), s)
		return err
	}, f.parent)
	f.child = r.grandchild(f.parent)
	r.settle(process, f.parent, f.child)
	f.below = r.grandchild(f.child)
	r.settle(process, f.parent, f.child, f.below)
	runs := []core.ID{r.head(f.parent).Run.ID, r.head(f.child).Run.ID, r.head(f.below).Run.ID}
	if runs[0] != receipt.RunID || runs[2].IsZero() {
		t.Fatalf("operation %d: the runs are %v", k, runs)
	}
	under(func(process *host.Host) error {
		if !approve {
			_, err := process.CancelThread(t.Context(), local, "t1")
			return err
		}
		read, err := process.ReadRun(t.Context(), local, runs[2])
		if err != nil || len(read.Tickets) != 1 {
			return err
		}
		_, err = process.Decide(t.Context(), local, runs[2], mailbox.Deciding{
			Target: read.Tickets[0].Suspension.ID, Decision: core.Decision{ID: "yes", Action: core.DecisionResume},
		})
		return err
	}, f.parent, f.child, f.below)
	for range 2 { // each may wake another
		r.settle(process, f.parent, f.child, f.below)
	}
	reader := r.process("reader", r.store)
	for i, key := range []core.ThreadKey{f.parent, f.child, f.below} {
		read, err := reader.ReadRun(t.Context(), local, runs[i])
		good := err == nil && read.Status == core.RunDone && (approve && strings.Contains(read.Response, "allowed") || !approve && read.Termination.Type == core.TerminationCancelled)
		if head := r.head(key); !good || head.Busy(0) || len(head.Outbox) != 0 || head.DueAt != 0 {
			t.Errorf("operation %d, level %d: run %+v, %v; the head %+v", k, i, read, err, head)
		}
	}
	return way.reached()
}
