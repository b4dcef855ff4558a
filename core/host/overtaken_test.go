package host

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that waits for its run takes it up, and somebody else comes first with a step:
// that is shown before the next.
func TestAWaitingCallShowsTheStepThatCameBeforeItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := env.System()
		faulty := &storetest.Faulty{Backend: memory.New()}
		config := Options{
			Env: system, Store: faulty, Waker: NewQueue(system), alone: true, Worker: "waits", Logger: slog.New(slog.DiscardHandler),
			Agents: agent.Parts{
				Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(system)}},
				Tools: []tool.Tool{tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
					Text string `json:"text"`
				}) (string, error) {
					return a.Text, nil
				})},
				Specs: []agent.Spec{{ID: "demo", Model: "m"}},
			},
		}
		waits, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		config.Waker, config.Worker, config.Steps = &mailboxtest.Queue{}, "first", 1
		first, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		key := core.ThreadKey{Tenant: LocalTenant, Thread: "t1"}
		receipt, err := waits.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("parallel: a")}})
		if err != nil {
			t.Fatal(err)
		}
		faulty.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			faulty.OnCommit = nil
			if err := first.WorkLocal(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}); err != nil {
				t.Error(err)
			}
			return faulty.Backend.Commit(ctx, key, c)
		}
		var got []core.EventType
		err = waits.Follow(t.Context(), core.Identity{Tenant: LocalTenant}, receipt.RunID, ListenerFunc(func(e core.Event) error {
			got = append(got, e.Type)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		want := []core.EventType{
			core.EventRunStart,
			core.EventStepStart, core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallReady, core.EventInferenceComplete,
			core.EventToolCallDone, core.EventStepEnd,
			core.EventStepStart, core.EventTextDelta, core.EventTextDelta, core.EventInferenceComplete, core.EventStepEnd, core.EventRunFinish,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
