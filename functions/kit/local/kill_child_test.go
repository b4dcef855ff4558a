//go:build killpoints

package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// supervisorSays is a message whose call waits for a child run, which waits for a person.
const supervisorSays = "team: buyer approve: order"

// supervisor sends the message whose call waits for a child run, and approves what that asks,
// through the parent. What the host did not respond to is sent again.
type supervisor struct {
	run   string            // empty: not acknowledged
	asked *core.ChildTicket // whose decision was sent; nil: none, or the host responded
}

// talk goes on until the run is over, or until the host has died.
func (s *supervisor) talk(t *testing.T, l *process) (over bool) {
	t.Helper()
	for l.url != "" {
		if s.run == "" {
			if s.run = l.submitTo(t, "coordinator", supervisorSays); s.run == "" {
				return false
			}
		}
		if s.asked != nil && !l.approveChild(t, s.run, *s.asked) {
			return false
		}
		s.asked = nil
		events, ok := l.events(s.run)
		switch {
		case !ok:
			return false
		case strings.Contains(events, `"termination":{"type":"natural_end"}`):
			return true
		case !strings.Contains(events, `"termination":{"type":"suspended"}`):
			t.Fatalf("the stream ended before the run waited:\n%s", events)
		}
		var r core.Run
		if !l.get(t, "/v1/runs/"+s.run, &r) {
			return false
		}
		if len(r.ChildTickets) > 0 {
			s.asked = &r.ChildTickets[0]
		}
	}
	return false
}

// get reads a value; false: the host has died.
func (l *process) get(t *testing.T, path string, into any) bool {
	t.Helper()
	response, err := client.Get(l.url + path)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into) == nil
}

// approveChild sends the decision on a call of a child run of a run; the same each time.
func (l *process) approveChild(t *testing.T, run string, k core.ChildTicket) (responded bool) {
	t.Helper()
	body := fmt.Sprintf(`{"run_id":%q,"tool_call_id":%q,"decision_id":"approve","action":"resume"}`, k.RunID, k.CallID)
	response, err := client.Post(l.url+"/v1/runs/"+run+"/decision", "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusAccepted {
		t.Fatalf("decide on %s: status %d: %s", k.CallID, response.StatusCode, text)
	}
	return err == nil
}

// supervised are the points that a run and its child run pass from where the first passes
// differ from those of a single run: the point, and which of its passings.
var supervised = []struct {
	point       string
	first, last int
}{
	{atEnqueue, 2, 2}, {atHint, 2, 2}, {atRespond, 2, 2}, // of the child run, and of the decision
	{atReceive, 2, 5}, {atClaim, 2, 5}, {atReadLog, 2, 5}, {atModel, 2, 4},
	{atCommitTurn, 1, 2}, {atTool, 1, 3}, // the delegate starts, the approved tool runs, the delegate has ended
	{atCommitStep, 1, 7}, {atContinue, 1, 2}, {atDeleteMessage, 1, 5},
	{atDecide, 1, 2}, {atDecisionHint, 1, 2}, // by the person, and by the end of the child run
}

func TestKilledParentOfAWaitingChildEndsOnce(t *testing.T) {
	for _, k := range supervised {
		for count := k.first; count <= k.last; count++ {
			for _, side := range []string{"before", "after"} {
				at := k.point + "." + side
				t.Run(fmt.Sprintf("%s_%d", at, count), func(t *testing.T) {
					t.Parallel()
					undisturbed(t, 3, func() error {
						here := newPlace(t)
						var s supervisor
						first := here.start(t, at, count)
						if s.talk(t, first) {
							t.Fatal("the run ended, and the host was not killed")
						}
						first.killed(t)
						return here.supervises(t, s)
					})
				})
			}
		}
	}
}

// TestKilledWhileAChildWaits kills the host while nothing works.
func TestKilledWhileAChildWaits(t *testing.T) {
	t.Parallel()
	undisturbed(t, 3, func() error {
		here := newPlace(t)
		var s supervisor
		first := here.start(t, "", 1)
		s.run = first.submitTo(t, "coordinator", supervisorSays)
		if events, ok := first.events(s.run); !ok || !strings.Contains(events, `"termination":{"type":"suspended"}`) {
			t.Fatalf("the run does not wait:\n%s", events)
		}
		if err := first.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.command.Wait() // it was killed
		return here.supervises(t, s)
	})
}

// supervises starts the host again, lets the supervisor go on, and checks that both runs have
// ended and that everything was done once. The error is late's.
func (p place) supervises(t *testing.T, s supervisor) (late error) {
	t.Helper()
	before, stored := p.executions(t), p.childResult(t, s.run)
	second := p.start(t, "", 1)
	if !s.talk(t, second) {
		t.Fatal("the host died after its restart")
	}
	late = second.late()
	child := childOf(s.run)
	got := []string{"t1"}
	for _, thread := range []string{"t1", child.Thread} {
		for _, m := range second.messages(t, thread) {
			got = append(got, string(m.Role)+": "+m.Text())
		}
	}
	var page struct{ Runs []core.Run }
	if !second.get(t, "/v1/runs", &page) {
		t.Fatal("the host died after its restart")
	}
	for _, r := range page.Runs {
		got = append(got, fmt.Sprintf("%s is %s after %d steps", r.AgentID, r.Status, r.Steps))
	}
	slices.Sort(got[len(got)-len(page.Runs):])
	want := []string{
		"t1", "user: team: buyer approve: order", "assistant: ",
		`tool: {"agent_id":"buyer","status":"completed","response":"Done: order","output":"Done: order","steps":2}`, "assistant: buyer: Done: order",
		"user: approve: order", "assistant: ", `tool: {"text":"order","executions":1}`, "assistant: Done: order",
		"buyer is done after 2 steps", "coordinator is done after 2 steps",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads and runs after the restart (-want +got):\n%s", diff)
	}
	second.stop(t)
	p.approvedOnce(t, before, stored)
	p.nothingIsOpen(t, child)
	return late
}

// approvedOnce compares the executions of the approved tool with those before the restart.
func (p place) approvedOnce(t *testing.T, before map[string]int, stored bool) {
	t.Helper()
	after := p.executions(t)
	for key, n := range after {
		want := before[key] + 1
		if stored {
			want = before[key]
		}
		if n != want || len(after) != 1 {
			t.Errorf("executions %v, and %v before the restart; the result was stored: %t", after, before, stored)
		}
	}
	if len(after) == 0 {
		t.Error("the approved tool has not run")
	}
}

// nothingIsOpen checks the records of both threads: one decision on each, and nothing open.
func (p place) nothingIsOpen(t *testing.T, child core.ThreadKey) {
	t.Helper()
	p.open(t, func(file *bolt.Store) {
		for _, key := range []core.ThreadKey{theThread, child} {
			head, err := file.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if !head.Run.ID.IsZero() || len(head.Tickets) > 0 || len(head.Run.Children) > 0 || len(head.Outbox) > 0 {
				t.Errorf("the head of %s has something open: %+v", key.Thread, head)
			}
			for prefix, want := range map[string]int{"D#": 1, "O#": 0} {
				records, err := file.Records(t.Context(), key, prefix, "", 100)
				if err != nil || len(records) != want {
					t.Errorf("thread %s has %d records %s, %v; want %d", key.Thread, len(records), prefix, err, want)
				}
			}
		}
	})
}

// childOf is the thread of the child run that the only call of a run has started.
func childOf(run string) core.ThreadKey {
	return core.ThreadKey{Tenant: localTenant, Thread: "child." + run + ".2.0"}
}

// childResult tells whether the result of the tool that the child of the run calls is stored.
func (p place) childResult(t *testing.T, run string) (stored bool) {
	t.Helper()
	p.open(t, func(file *bolt.Store) {
		head, err := file.Head(t.Context(), theThread)
		if err != nil {
			t.Fatal(err)
		}
		if !head.Run.ID.IsZero() { // the host did not respond with its id
			run = head.Run.ID.String()
		}
		_, stored, err = file.Get(t.Context(), childOf(run), store.LogName(3)) // after the user's message and the turn
		if err != nil {
			t.Fatal(err)
		}
	})
	return stored
}
