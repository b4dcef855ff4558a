package run_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A model is called on behalf of the thread's tenant, whoever's request the process is
// serving: a provider may have a key for each.
func TestModelsAreCalledForTheTenantOfTheThread(t *testing.T) {
	var got []core.Identity
	m := modelFunc(func(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
		id, ok := core.IdentityFrom(ctx)
		if !ok {
			t.Error("the context has no identity")
		}
		got = append(got, id)
		return replies(text("done"))(ctx, model.Request{})
	})
	w := newWorld(t, options{agents: spec(t, m, agent.Spec{})})
	w.submit(t, key, "hi", mailbox.ModeQueue)
	head := w.take(t, key)
	ctx := core.WithIdentity(t.Context(), core.Identity{Tenant: "another", User: "bob"})
	if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.Identity{{Tenant: key.Tenant, User: head.Owner}}, got); diff != "" {
		t.Error(diff)
	}
}
