//go:build killpoints

package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
)

// nap is how long the call of these tests waits.
const nap = 1500 * time.Millisecond

// naps is what a run with one call that waits for a time passes from where it waits: the point, its
// how many-th passing, and for both sides what the head says of the call (a? is undecided, a!
// decided), and how often its tool has run after the wait when all is over.
var naps = []struct {
	point string
	count int
	left  [2]string
	ran   [2]int
}{
	{atCommitStep, 1, [2]string{"", "a?"}, [2]int{1, 1}}, // it waits
	{atContinue, 1, [2]string{"a?", "a?"}, [2]int{1, 1}}, // its hint is sent
	{atDeleteMessage, 1, [2]string{"a?", "a?"}, [2]int{1, 1}},
	{atReceive, 2, [2]string{"a?", "a?"}, [2]int{1, 1}}, // the time has come
	{atClaim, 2, [2]string{"a?", "a!"}, [2]int{1, 1}},
	{atReadLog, 2, [2]string{"a!", "a!"}, [2]int{1, 1}},
	{atTool, 2, [2]string{"a!", "a!"}, [2]int{1, 2}},
	{atCommitStep, 2, [2]string{"a!", ""}, [2]int{2, 1}},
	{atContinue, 2, [2]string{"", ""}, [2]int{1, 1}},
}

// rewakes is what the next host passes after the host was killed while the call waited.
var rewakes = []struct {
	point string
	left  [2]string
	ran   [2]int
}{
	{atDue, [2]string{"a?", "a?"}, [2]int{1, 1}},
	{atSweepHint, [2]string{"a?", "a?"}, [2]int{1, 1}},
	{atReceive, [2]string{"a?", "a?"}, [2]int{1, 1}},
	{atClaim, [2]string{"a?", "a!"}, [2]int{1, 1}},
	{atReadLog, [2]string{"a!", "a!"}, [2]int{1, 1}},
	{atTool, [2]string{"a!", "a!"}, [2]int{1, 2}},
	{atCommitStep, [2]string{"a!", ""}, [2]int{2, 1}},
}

func TestKilledWaitForATimeWakesAfterRestart(t *testing.T) {
	for _, k := range naps {
		for i, side := range []string{"before", "after"} {
			at := k.point + "." + side
			t.Run(fmt.Sprintf("%s_%d", at, k.count), func(t *testing.T) {
				t.Parallel()
				undisturbed(t, 3, func() error {
					here := newPlace(t)
					first := here.start(t, at, k.count)
					run := first.naps(t)
					first.killed(t)
					return here.wakes(t, run, k.left[i], k.ran[i])
				})
			})
		}
	}
}

// TestKilledWhileItWaits kills the host while nothing of the run works. The next host starts before
// the time of the call, or after it.
func TestKilledWhileItWaits(t *testing.T) {
	for _, overslept := range []bool{false, true} {
		t.Run(fmt.Sprintf("overslept %t", overslept), func(t *testing.T) {
			t.Parallel()
			undisturbed(t, 3, func() error {
				here := newPlace(t)
				run := here.asleep(t)
				if overslept {
					time.Sleep(nap)
				}
				return here.wakes(t, run, "a?", 1)
			})
		})
	}
}

// TestKilledWakeUpIsRecovered kills the host while the call waits, and the next host on the way to
// its wake-up.
func TestKilledWakeUpIsRecovered(t *testing.T) {
	for _, k := range rewakes {
		for i, side := range []string{"before", "after"} {
			at := k.point + "." + side
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				undisturbed(t, 3, func() error {
					here := newPlace(t)
					run := here.asleep(t)
					here.start(t, at, 1).killed(t)
					return here.wakes(t, run, k.left[i], k.ran[i])
				})
			})
		}
	}
}

func newPlace(t *testing.T) place {
	t.Helper()
	return place{data: filepath.Join(t.TempDir(), "data.db"), keys: filepath.Join(t.TempDir(), "keys")}
}

// naps submits a run whose call waits.
func (l *process) naps(t *testing.T) (run string) {
	t.Helper()
	return l.submitTo(t, "sequential", fmt.Sprintf(`call: nap {"ms":%d}`, nap.Milliseconds()))
}

// asleep kills a host while a call waits.
func (p place) asleep(t *testing.T) (run string) {
	t.Helper()
	first := p.start(t, "", 1)
	run = first.naps(t)
	if events, ok := first.events(run); !ok || !strings.Contains(events, `"termination":{"type":"suspended"}`) {
		t.Fatalf("the run does not wait:\n%s", events)
	}
	if err := first.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.command.Wait() // it was killed
	return run
}

// wakes starts the host again, and checks that the call was woken at its time, by one decision, and
// that its tool has run so often. The error is that this was late.
func (p place) wakes(t *testing.T, run, left string, ran int) (late error) {
	t.Helper()
	if got := p.tickets(t); got != left {
		t.Errorf("the host left the tickets %q, want %q", got, left)
	}
	before, stored := p.executions(t), p.results(t)
	second := p.start(t, "", 1)
	if second.url == "" {
		t.Fatal("the host did not listen after its restart")
	}
	if run == "" {
		run = second.naps(t)
	}
	for over := false; !over; {
		events, ok := second.events(run) // it ends where the run waits, too
		if !ok {
			t.Fatal("the host died after its restart")
		}
		over = strings.Contains(events, `"termination":{"type":"natural_end"}`)
	}
	over := time.Now()
	var got []string
	for _, m := range second.messages(t, "t1") {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	want := []string{`user: call: nap {"ms":1500}`, "assistant: ", `tool: "woken"`, "assistant: The result of nap: woken"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages after the restart (-want +got):\n%s", diff)
	}
	second.stop(t)
	p.ranOnce(t, before, stored, 1)
	for key, n := range p.executions(t) {
		if n != ran {
			t.Errorf("call %s has run %d times after its wait, want %d", key, n, ran)
		}
	}
	if left := p.tickets(t); left != "" {
		t.Errorf("the run is over and has the tickets %q", left)
	}
	wakeAt := p.woken(t)
	if over.Before(wakeAt) {
		t.Errorf("the run was over %s before the time of its call", wakeAt.Sub(over))
	}
	since := wakeAt
	if second.listened.After(wakeAt) {
		since = second.listened
	}
	if took := over.Sub(since); took > recovery {
		return fmt.Errorf("the run was over %s after the time of its call, or the start of the host, want at most %s", took, recovery)
	}
	return nil
}

// woken checks that the clock has decided once, and returns the time of the call that waits.
func (p place) woken(t *testing.T) time.Time {
	t.Helper()
	var decisions []core.Decision
	var tickets []core.Ticket
	p.open(t, func(file *bolt.Store) {
		decisions, tickets = kept[core.Decision](t, file, "D#"), kept[core.Ticket](t, file, "C#")
	})
	if len(decisions) != 1 || !decisions[0].Woken() {
		t.Errorf("the decisions are %+v, want one of the clock", decisions)
	}
	for _, k := range tickets { // next to it is the record of the round
		if k.WakeAt != 0 {
			return time.UnixMilli(k.WakeAt)
		}
	}
	t.Fatal("no ticket is stored")
	return time.Time{}
}

// kept reads the thread's records whose names begin with the prefix.
func kept[T any](t *testing.T, file *bolt.Store, prefix string) []T {
	t.Helper()
	records, err := file.Records(t.Context(), theThread, prefix, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]T, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Payload, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	return values
}
