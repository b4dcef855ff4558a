package httpapi_test

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// dies claims thread t1 and is gone, five times: the run takes its process down.
func (r *real) dies() {
	r.t.Helper()
	r.diesAs("secret-tenant", "t1")
}

func (r *real) diesAs(tenant, name string) {
	r.t.Helper()
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: r.store, Waker: r.queue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	key := core.ThreadKey{Tenant: tenant, Thread: name}
	for i := range 5 {
		if _, claimed, err := box.Claim(r.t.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true); !claimed || err != nil {
			r.t.Fatalf("claim %d: %v, %v", i+1, claimed, err)
		}
		if err := box.Reclaim(r.t.Context(), []core.ThreadKey{key}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A run that takes its process down again and again is a dead letter: it says so itself
// and in the mailbox, and goes nowhere until a person retries it, once.
func TestADeadLetterIsSeenAndRetried(t *testing.T) {
	r := newReal(t)
	var accepted, again, other struct {
		Run string `json:"run_id"`
	}
	r.read(r.ok("POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"echo: hello"}]}`), &accepted)
	retry := "/v1/runs/" + accepted.Run + "/retry"
	check(t, do(r, "POST", retry, ""), 409, `{"error":"run `+accepted.Run+` is not over (created), only a dead-lettered run can be retried","code":"conflict"}`)
	r.dies()
	r.work()
	var run core.Run
	r.read(r.ok("GET", "/v1/runs/"+accepted.Run, ""), &run)
	end := &core.Termination{Type: core.TerminationError, Code: "dead_letter", Detail: "no progress in 5 attempts"}
	if diff := cmp.Diff(end, run.Termination); diff != "" || run.Status != core.RunDone {
		t.Errorf("the run is %s (-want +got):\n%s", run.Status, diff)
	}
	var page struct{ Items []core.Dispatch }
	r.read(r.ok("GET", "/v1/threads/t1/mailbox?status=dead_letter", ""), &page)
	if len(page.Items) != 1 || page.Items[0].RunID != run.ID || page.Items[0].Status != core.DispatchDeadLetter {
		t.Fatalf("dead letters: %+v", page.Items)
	}
	if diff := cmp.Diff(end, page.Items[0].Termination); diff != "" {
		t.Errorf("the dead letter (-want +got):\n%s", diff)
	}

	r.read(r.ok("POST", retry, ""), &again)
	r.read(r.ok("POST", retry, ""), &other)
	if again.Run == accepted.Run || again != other {
		t.Errorf("retried as %s, then as %s", again.Run, other.Run)
	}
	r.work()
	r.read(r.ok("GET", "/v1/runs/"+again.Run, ""), &run)
	if run.Status != core.RunDone || run.Termination.Type != core.TerminationNatural {
		t.Errorf("the retried run is %+v", run)
	}
	var said struct{ Messages []core.Message }
	r.read(r.ok("GET", "/v1/threads/t1/messages", ""), &said)
	var inputs int
	for _, m := range said.Messages {
		if m.Role == core.RoleUser && m.Text() == "echo: hello" {
			inputs++
		}
	}
	if inputs != 2 {
		t.Errorf("the input stands %d times in the log, want twice", inputs)
	}
	check(t, do(r, "POST", "/v1/runs/"+again.Run+"/retry", ""), 409, `{"error":"run `+again.Run+` did not end as a dead letter, only such a run can be retried","code":"conflict"}`)
}
