//go:build aws

package deployed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// A process dies while it takes a decision, at each point; the client, which was
// got no response, sends it again. The decision counts once and the tool runs once.
// Where the records of a decision are stored and its head is not, no point is
// passed: there the store does what the death would leave.
func TestAKilledDecisionIsSentAgain(t *testing.T) {
	tests := []struct {
		name, at  string
		duplicate bool // the first try was durable
	}{
		{"before everything", "H2.before", false},
		{"between record and head", "", false},
		{"between head and hint", "H2.after", true},
		{"before the hint", "H3.before", true},
		{"after the hint", "H3.after", true},
	}
	killed, step := build(t, "scripts/verify/deployed/api", "killpoints"), build(t, "scripts/verify/deployed/step", "killpoints")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, 2*time.Second)
			marker, keys := filepath.Join(t.TempDir(), "killed"), filepath.Join(t.TempDir(), "keys")
			w.run(t,
				w.function("api", killed, 30*time.Second, "REVEILLE_LEASE=2s", "REVEILLE_KILL_AT="+tt.at, "REVEILLE_KILL_ONCE="+marker),
				w.function("step", step, 30*time.Second, "REVEILLE_LEASE=2s", "REVEILLE_KEY_FILE="+keys))
			api := w.front(t, host.Front{Function: "api", Shape: host.ShapeREST})
			w.submit(t, "t1", "approve: ship it")
			w.deliverOne(t)
			waits := w.head(t, "t1")
			if len(waits.Tickets) != 1 || waits.Claim.Fence != 0 {
				t.Fatalf("after one invocation the head is %+v, want a ticket and no claim", waits)
			}
			w.deliver(t, 0) // the second hint comes, within two leases
			if diff := cmp.Diff(waits, w.head(t, "t1")); diff != "" {
				t.Fatalf("a second hint of a run that waits changes the head (-before +after):\n%s", diff)
			}
			var calls []string
			for _, m := range w.log(t, "t1") {
				for _, c := range m.ToolCalls {
					calls = append(calls, c.ID)
				}
			}
			if tt.at == "" {
				w.decideHalf(t, calls[0])
			} else if status, body := decide(t, api, calls[0]); status < 500 {
				t.Fatalf("the api function was not killed: %d %s", status, body)
			}
			want := fmt.Sprintf(`"duplicate":%v`, tt.duplicate)
			if status, body := decide(t, api, calls[0]); status != http.StatusAccepted || !strings.Contains(body, want) {
				t.Fatalf("status %d: %s; want 202 with %s", status, body, want)
			}
			w.finish(t, "t1")
			said := []string{"user: approve: ship it", "assistant: ", `tool: {"text":"ship it","executions":1}`, "assistant: Done: ship it"}
			if diff := cmp.Diff(said, w.messages(t, "t1")); diff != "" {
				t.Error(diff)
			}
			var ran []int
			for _, n := range executions(t, keys) {
				ran = append(ran, n)
			}
			if diff := cmp.Diff([]int{1}, ran); diff != "" {
				t.Errorf("executions (-want +got):\n%s", diff)
			}
			if got, err := w.store.Records(t.Context(), key("t1"), "D#", "", 10); err != nil || len(got) != 1 {
				t.Errorf("%d decisions are stored, %v; want 1", len(got), err)
			}
		})
	}
}

// decide sends the decision on a call.
func decide(t *testing.T, api, call string) (status int, body string) {
	t.Helper()
	response, err := http.Post(api+"/v1/threads/t1/decision", "application/json",
		strings.NewReader(fmt.Sprintf(`{"tool_call_id":%q,"decision_id":"yes","action":"resume"}`, call)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

var errDied = errors.New("died")

// decideHalf stores the decision's record alone.
func (w *world) decideHalf(t *testing.T, call string) {
	t.Helper()
	halfway := &storetest.Faulty{Backend: w.store} // of a process that dies between the records of a commit and its head
	halfway.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		for _, r := range c.Records {
			if err := w.store.Put(ctx, key, r); err != nil {
				return store.Outcome{}, err
			}
		}
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "%w", errDied) // not tried again
	}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: halfway, Waker: &mailboxtest.Queue{}})
	if err != nil {
		t.Fatal(err)
	}
	d := mailbox.Deciding{Target: call, Decision: core.Decision{ID: "yes", Action: core.DecisionResume}}
	if _, err := box.Decide(t.Context(), key("t1"), d); !errors.Is(err, errDied) {
		t.Fatalf("%v, want that it died", err)
	}
	if got, err := w.store.Records(t.Context(), key("t1"), "D#", "", 10); err != nil || len(got) != 1 || w.head(t, "t1").Tickets[0].Decision != 0 {
		t.Fatalf("%d decisions are stored, %v; want 1 that the head does not know", len(got), err)
	}
}
