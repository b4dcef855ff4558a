package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// Where the model of a thread fails, the members of its pool are tried in the order that they
// have for the thread.
func TestThePoolsOrderOfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		models := map[string]agent.ModelBinding{}
		pool := agent.ModelPoolSpec{ID: "pool", Switch: agent.PoolSwitch{OnPermanent: new(true)}}
		for _, name := range []string{"a", "b", "c", "d"} {
			models[name] = agent.ModelBinding{Name: name, Model: modelFunc(func(ctx context.Context, _ model.Request) iterator {
				asked = append(asked, name)
				if len(asked) < 3 {
					return func(yield func(model.Delta, error) bool) {
						yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized})
					}
				}
				return replies(text("ok"))(ctx, model.Request{})
			})}
			pool.Members = append(pool.Members, agent.PoolMember{Model: name})
		}
		agents, err := registry.New(agent.Parts{Models: models, Pools: []agent.ModelPoolSpec{pool}, Specs: []agent.Spec{{ID: "demo", Model: "pool"}}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{agents: agents})
		got := map[string]string{}
		for n := range 4 {
			key := core.ThreadKey{Tenant: "t", Thread: fmt.Sprint("t", n)}
			asked = nil
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			got[key.Thread] = strings.Join(asked, " ")
		}
		want := map[string]string{"t0": "d b c", "t1": "b a d", "t2": "c d b", "t3": "c d a"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}
