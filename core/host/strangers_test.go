package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A thread of another user, and its runs, are like those that do not exist, for whatever is
// read or written: the same code, and the same words but for the ids.
func TestAnothersThreadLooksLikeOneThatDoesNotExist(t *testing.T) {
	p := confirming(t, nil)
	receipt := ask(t, p, "acme", "hers", "ann", fmt.Sprintf(confirmed, "one"))
	waiting, err := p.ReadRun(t.Context(), core.Identity{Tenant: "acme", User: "ann"}, receipt.RunID)
	if err != nil || len(waiting.Tickets) != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	d := mailbox.Deciding{Target: waiting.Tickets[0].Suspension.ID, Decision: core.Decision{Action: core.DecisionResume}}
	nothing := host.ListenerFunc(func(e core.Event) error { t.Errorf("a stranger is shown %s", e.Type); return nil })
	input := []core.Message{core.UserMessage("mine")}
	type call = func(ctx context.Context, id core.Identity, thread string, run core.ID) error
	calls := map[string]call{
		"thread": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Thread(ctx, id, thread)
			return err
		},
		"messages": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Messages(ctx, id, thread, host.MessageQuery{})
			return err
		},
		"state": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.State(ctx, id, thread, nil)
			return err
		},
		"patches": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.StatePatches(ctx, id, thread, host.StateQuery{})
			return err
		},
		"mailbox": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Mailbox(ctx, id, thread, mailbox.ListQuery{})
			return err
		},
		"runs": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Runs(ctx, id, host.RunQuery{Thread: thread})
			return err
		},
		"active": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, _, err := p.ActiveRun(ctx, id, thread)
			return err
		},
		"children": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Threads(ctx, id, host.ThreadQuery{Parent: thread})
			return err
		},
		"update": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.UpdateThread(ctx, id, thread, host.ThreadChange{Title: &thread})
			return err
		},
		"delete": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			return p.DeleteThread(ctx, id, thread, "")
		},
		"cancel": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.CancelThread(ctx, id, thread)
			return err
		},
		"interrupt": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.InterruptThread(ctx, id, thread, "")
			return err
		},
		"edit": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			return p.EditInput(ctx, id, thread, receipt.DispatchID, input)
		},
		"retract": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			return p.RetractInput(ctx, id, thread, receipt.DispatchID)
		},
		"fork": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.Fork(ctx, id, thread, "m", "copy")
			return err
		},
		"decide in the thread": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.DecideThread(ctx, id, thread, d)
			return err
		},
		"stream decisions": func(ctx context.Context, id core.Identity, thread string, _ core.ID) error {
			_, err := p.StreamDecisions(ctx, id, thread, []mailbox.Deciding{d}, nothing)
			return err
		},
		"run": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.ReadRun(ctx, id, run)
			return err
		},
		"steps": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.Steps(ctx, id, run, host.StepQuery{})
			return err
		},
		"events": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.Committed(ctx, id, run, host.EventQuery{})
			return err
		},
		"follow": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			return p.Follow(ctx, id, run, nothing)
		},
		"decide": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.Decide(ctx, id, run, d)
			return err
		},
		"submit to": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.SubmitTo(ctx, id, run, mailbox.Submission{Messages: input})
			return err
		},
		"cancel the run": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			return p.CancelRun(ctx, id, run)
		},
		"retry": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.RetryRun(ctx, id, run)
			return err
		},
		"take up": func(ctx context.Context, id core.Identity, _ string, run core.ID) error {
			_, err := p.TakeUp(ctx, id, run)
			return err
		},
	}
	bob, unknown := core.Identity{Tenant: "acme", User: "bob"}, core.ID{7}
	for name, f := range calls {
		hers, none := f(t.Context(), bob, "hers", receipt.RunID), f(t.Context(), bob, "none", unknown)
		if core.CodeOf(hers) != core.CodeNotFound || core.CodeOf(none) != core.CodeNotFound {
			t.Errorf("%s: %v for another's, %v for what does not exist", name, hers, none)
			continue
		}
		if got, want := words(hers, "hers", receipt.RunID), words(none, "none", unknown); got != want {
			t.Errorf("%s: %q for another's, %q for what does not exist", name, got, want)
		}
	}
	if run, ok, err := p.RunOfKey(t.Context(), bob, "hers", "k"); ok || err != nil {
		t.Errorf("a key: %s, %v, %v", run, ok, err)
	}
	now, err := p.ReadRun(t.Context(), core.Identity{Tenant: "acme", User: "ann"}, receipt.RunID)
	if err != nil || len(now.Tickets) != 1 || now.Tickets[0].Decision != nil {
		t.Errorf("her run is changed: %+v, %v", now, err)
	}
}

// words is the text of an error without the ids that it names.
func words(err error, thread string, run core.ID) string {
	text := err.Error()
	for id, name := range map[string]string{run.String(): "RUN", " " + thread: " THREAD"} {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
