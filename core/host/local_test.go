package host_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

func TestNextGoesOnWithAThread(t *testing.T) {
	for _, user := range []string{"", "alice"} {
		t.Run("user "+user, func(t *testing.T) {
			r := newSolo(t, soloParts())
			first, err := r.Play(t.Context(), mailbox.Submission{
				Thread: core.ThreadKey{Tenant: "acme"}, User: user, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("one")},
			}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			second, err := r.Play(t.Context(), first.Next("two"), nil, nil)
			if err != nil || second.Thread != first.Thread || second.Run.ID == first.Run.ID || second.Text != "You said: two" {
				t.Errorf("%q on thread %s, %v; want the next run of thread %s", second.Text, second.Thread, err, first.Thread)
			}
			page, err := r.Messages(t.Context(), core.Identity{Tenant: "acme", User: user}, first.Thread, host.MessageQuery{})
			if diff := cmp.Diff([]string{"user: one", "assistant: You said: one", "user: two", "assistant: You said: two"}, soloLines(page.Messages)); diff != "" || err != nil {
				t.Errorf("messages, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A program by itself has no tenants, so none is asked for.
func TestOneProgramsReadsNeedNoTenant(t *testing.T) {
	r, ctx, nobody := newSolo(t, soloParts()), t.Context(), core.Identity{}
	waiting, err := r.Run(ctx, "demo", "approve: it")
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Messages(ctx, nobody, waiting.Thread, host.MessageQuery{})
	if err != nil || len(page.Messages) != 2 {
		t.Errorf("%d messages, %v, want 2", len(page.Messages), err)
	}
	if info, err := r.Thread(ctx, nobody, waiting.Thread); err != nil || info.ActiveRun != waiting.Run.ID {
		t.Errorf("thread %+v, %v", info, err)
	}
	if run, err := r.ReadRun(ctx, nobody, waiting.Run.ID); err != nil || run.Status != core.RunWaiting {
		t.Errorf("run %+v, %v", run, err)
	}
	if _, err := r.Decide(ctx, nobody, waiting.Run.ID, host.Approve(waiting.Tickets[0])); err != nil {
		t.Errorf("deciding: %v", err)
	}
	if id, err := r.CancelThread(ctx, nobody, waiting.Thread); err != nil || id != waiting.Run.ID {
		t.Errorf("cancelled %s, %v", id, err)
	}
	if _, err := r.Messages(ctx, core.Identity{Tenant: "other"}, waiting.Thread, host.MessageQuery{}); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("another tenant: %v, want not_found", err)
	}
}

// In a host an identity without a tenant is one that nobody has verified.
func TestAHostsReadsNeedATenant(t *testing.T) {
	r := newWorld(t, nil)
	_, err := r.Messages(t.Context(), core.Identity{}, "t1", host.MessageQuery{})
	if got, want := fmt.Sprint(err), "tenant is empty"; got != want || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("%s with code %s, want %s", got, core.CodeOf(err), want)
	}
}
