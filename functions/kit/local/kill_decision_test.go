//go:build killpoints

package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
)

// person sends the message whose second and third call wait, and approves both,
// one after the other. What the host did not respond to is sent again.
type person struct {
	agent string
	run   string // empty: not acknowledged
	asked string // the call whose decision was sent; empty: none, or the host responded
}

// talk goes on until the run is over, or until the host has died.
func (p *person) talk(t *testing.T, l *process) (over bool) {
	t.Helper()
	for l.url != "" {
		if p.run == "" {
			if p.run = l.submitTo(t, p.agent, "parallel: a, wait b, wait c"); p.run == "" {
				return false
			}
		}
		if p.asked != "" && !l.approve(t, p.run, p.asked) {
			return false
		}
		p.asked = ""
		events, ok := l.events(p.run)
		switch {
		case !ok:
			return false
		case strings.Contains(events, `"termination":{"type":"natural_end"}`):
			return true
		case !strings.Contains(events, `"termination":{"type":"suspended"}`):
			t.Fatalf("the stream ended before the run waited:\n%s", events)
		}
		if p.asked, ok = l.undecided(t, p.run); !ok {
			return false
		}
	}
	return false
}

// events is the run's stream up to where it waits or ends.
func (l *process) events(run string) (events string, ok bool) {
	response, err := client.Get(l.url + "/v1/runs/" + run + "/events/stream")
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err == nil && response.StatusCode == http.StatusOK
}

// undecided is the first call that waits for a decision; empty: none does.
func (l *process) undecided(t *testing.T, run string) (call string, ok bool) {
	t.Helper()
	response, err := client.Get(l.url + "/v1/runs/" + run)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	var got core.Run
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		return "", false
	}
	i := slices.IndexFunc(got.Tickets, func(k core.Ticket) bool { return k.Decision == nil })
	if i < 0 {
		return "", true
	}
	return got.Tickets[i].CallID, true
}

// approve sends the decision on a call; the same each time.
func (l *process) approve(t *testing.T, run, call string) (responded bool) {
	t.Helper()
	body := fmt.Sprintf(`{"tool_call_id":%q,"decision_id":"approve-%s","action":"resume"}`, call, call)
	response, err := client.Post(l.url+"/v1/runs/"+run+"/decision", "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusAccepted {
		t.Fatalf("decide on %s: status %d: %s", call, response.StatusCode, text)
	}
	return err == nil
}

// waits is what a run of the person's passes from where its first call waits, in
// each mode: the point, its how many-th passing, and for both sides what the head
// says of the calls that wait (b? is undecided, b! decided) and how often each of
// the three tools has run when all is over. "*" is not looked at: it depends on who
// is faster.
var waits = map[string][]struct {
	point string
	count int
	left  [2]string
	ran   [2]string
}{
	"sequential": {
		{atPutResult, 1, [2]string{"", ""}, [2]string{"2 1 1", "1 1 1"}},
		{atCommitStep, 1, [2]string{"", "b?"}, [2]string{"1 1 1", "1 1 1"}}, // b waits
		{atDecide, 1, [2]string{"b?", "b!"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecisionHint, 1, [2]string{"b!", "*"}, [2]string{"1 1 1", "*"}},
		{atReceive, 2, [2]string{"b!", "b!"}, [2]string{"1 1 1", "1 1 1"}},
		{atClaim, 2, [2]string{"b!", "b!"}, [2]string{"1 1 1", "1 1 1"}},
		{atReadLog, 2, [2]string{"b!", "b!"}, [2]string{"1 1 1", "1 1 1"}},
		{atTool, 2, [2]string{"b!", "b!"}, [2]string{"1 1 1", "1 2 1"}},
		{atPutResult, 2, [2]string{"b!", "b!"}, [2]string{"1 2 1", "1 1 1"}},
		{atCommitStep, 2, [2]string{"b!", "c?"}, [2]string{"1 1 1", "1 1 1"}}, // c waits
		{atDecide, 2, [2]string{"c?", "c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecisionHint, 2, [2]string{"c!", "*"}, [2]string{"1 1 1", "*"}},
		{atClaim, 3, [2]string{"c!", "c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atTool, 3, [2]string{"c!", "c!"}, [2]string{"1 1 1", "1 1 2"}},
		{atCommitStep, 3, [2]string{"c!", ""}, [2]string{"1 1 2", "1 1 1"}}, // its result travels with it
	},
	"parallel_batch_approval": {
		{atCommitTurn, 2, [2]string{"", "b? c?"}, [2]string{"*", "*"}}, // the tickets become visible; a has started before
		{atTool, 1, [2]string{"*", "*"}, [2]string{"1 1 1", "2 1 1"}},  // it only reads, and starts while the turn is written
		{atPutResult, 1, [2]string{"b? c?", "b? c?"}, [2]string{"2 1 1", "1 1 1"}},
		{atCommitStep, 1, [2]string{"b? c?", "b? c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecide, 1, [2]string{"b? c?", "b! c?"}, [2]string{"1 1 1", "1 1 1"}}, // and nobody is woken
		{atDecide, 2, [2]string{"b! c?", "b! c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecisionHint, 1, [2]string{"b! c!", "*"}, [2]string{"1 1 1", "*"}},
		{atReceive, 2, [2]string{"b! c!", "b! c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atClaim, 2, [2]string{"b! c!", "b! c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atReadLog, 2, [2]string{"b! c!", "b! c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atTool, 2, [2]string{"b! c!", "b! c!"}, [2]string{"*", "*"}}, // b and c run side by side
		{atTool, 3, [2]string{"b! c!", "b! c!"}, [2]string{"*", "*"}},
		{atPutResult, 2, [2]string{"b! c!", "b! c!"}, [2]string{"*", "*"}},
		{atCommitStep, 2, [2]string{"b! c!", ""}, [2]string{"*", "1 1 1"}},
	},
	"parallel_streaming": {
		{atCommitTurn, 2, [2]string{"", "b? c?"}, [2]string{"*", "*"}},
		{atTool, 1, [2]string{"*", "*"}, [2]string{"1 1 1", "2 1 1"}},
		{atPutResult, 1, [2]string{"b? c?", "b? c?"}, [2]string{"2 1 1", "1 1 1"}},
		{atCommitStep, 1, [2]string{"b? c?", "b? c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecide, 1, [2]string{"b? c?", "b! c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecisionHint, 1, [2]string{"b! c?", "*"}, [2]string{"1 1 1", "*"}},
		{atReceive, 2, [2]string{"b! c?", "b! c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atClaim, 2, [2]string{"b! c?", "b! c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atReadLog, 2, [2]string{"b! c?", "b! c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atTool, 2, [2]string{"b! c?", "b! c?"}, [2]string{"1 1 1", "1 2 1"}},
		{atPutResult, 2, [2]string{"b! c?", "b! c?"}, [2]string{"1 2 1", "1 1 1"}},
		{atCommitStep, 2, [2]string{"b! c?", "c?"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecide, 2, [2]string{"c?", "c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atDecisionHint, 2, [2]string{"c!", "*"}, [2]string{"1 1 1", "*"}},
		{atClaim, 3, [2]string{"c!", "c!"}, [2]string{"1 1 1", "1 1 1"}},
		{atTool, 3, [2]string{"c!", "c!"}, [2]string{"1 1 1", "1 1 2"}},
		{atCommitStep, 3, [2]string{"c!", ""}, [2]string{"1 1 2", "1 1 1"}},
	},
}

func TestKilledWaitIsDecidedAfterRestart(t *testing.T) {
	for mode, kills := range waits {
		for _, k := range kills {
			for i, side := range []string{"before", "after"} {
				at := k.point + "." + side
				t.Run(fmt.Sprintf("%s/%s_%d", mode, at, k.count), func(t *testing.T) {
					t.Parallel()
					undisturbed(t, 3, func() error {
						here := place{data: filepath.Join(t.TempDir(), "data.db"), keys: filepath.Join(t.TempDir(), "keys")}
						p := person{agent: mode}
						first := here.start(t, at, k.count)
						if p.talk(t, first) {
							t.Fatal("the run ended, and the host was not killed")
						}
						first.killed(t)
						if left := here.tickets(t); k.left[i] != "*" && left != k.left[i] {
							t.Errorf("the host left the tickets %q, want %q", left, k.left[i])
						}
						return here.decides(t, p, k.ran[i])
					})
				})
			}
		}
	}
}

// decides starts the host again and lets the person go on. ran is how often each
// tool has run in the end. The error is late's.
func (p place) decides(t *testing.T, person person, ran string) error {
	t.Helper()
	before, stored := p.executions(t), p.results(t)
	second := p.start(t, "", 1)
	if !person.talk(t, second) {
		t.Fatal("the host died after its restart")
	}
	late := second.late()
	var got []string
	for _, m := range second.messages(t, "t1") {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	want := []string{
		"user: parallel: a, wait b, wait c", "assistant: ",
		`tool: {"text":"a"}`, `tool: {"text":"wait b"}`, `tool: {"text":"wait c"}`, "assistant: Echo: a, wait b, wait c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages after the restart (-want +got):\n%s", diff)
	}
	second.stop(t)
	p.ranOnce(t, before, stored, 3)
	counts := map[string]int{}
	for key, n := range p.executions(t) {
		counts[key[strings.LastIndex(key, "/")+1:]] = n
	}
	if line := fmt.Sprint(counts["0"], counts["1"], counts["2"]); ran != "*" && line != ran {
		t.Errorf("the tools have run %s times, want %s", line, ran)
	}
	if left := p.tickets(t); left != "" {
		t.Errorf("the run is over and has the tickets %q", left)
	}
	if decisions := p.names(t, "D#"); len(decisions) != 2 {
		t.Errorf("stored decisions %q, want one on each call", decisions)
	}
	return late
}

// open lets do read the host's file.
func (p place) open(t *testing.T, do func(*bolt.Store)) {
	t.Helper()
	file, err := bolt.Open(p.data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	do(file)
}

var theThread = core.ThreadKey{Tenant: localTenant, Thread: "t1"}

// tickets is what the head says of the calls that wait, in call order.
func (p place) tickets(t *testing.T) string {
	t.Helper()
	var left []string
	p.open(t, func(file *bolt.Store) {
		head, err := file.Head(t.Context(), theThread)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range head.Tickets {
			state := "?"
			if k.Decision != 0 {
				state = "!"
			}
			left = append(left, string(rune('a'+k.Call))+state)
		}
	})
	slices.Sort(left)
	return strings.Join(left, " ")
}

// names lists the thread's records whose names begin with the prefix.
func (p place) names(t *testing.T, prefix string) (names []string) {
	t.Helper()
	p.open(t, func(file *bolt.Store) {
		records, err := file.Records(t.Context(), theThread, prefix, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			names = append(names, r.Name)
		}
	})
	return names
}
