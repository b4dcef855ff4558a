package host

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// A stream that has ended leaves nothing behind that waits for the end of its request.
func TestAStreamLeavesNothingBehind(t *testing.T) {
	for name, stream := range map[string]func(ctx context.Context, r *Host, d mailbox.Deciding) error{
		"decisions": func(ctx context.Context, r *Host, d mailbox.Deciding) error {
			_, err := r.StreamDecisions(ctx, core.Identity{Tenant: "acme"}, "t", []mailbox.Deciding{d}, ListenerFunc(discard))
			return err
		},
		"decisions and input": func(ctx context.Context, r *Host, d mailbox.Deciding) error {
			_, err := r.StreamAnswered(ctx, core.Identity{Tenant: "acme"}, []mailbox.Deciding{d}, hello("t"), ListenerFunc(discard))
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
			ctx := context.WithoutCancel(t.Context())
			r, _ := program(t, func(c *Options) { c.Waker, c.alone, c.Agents.Tools = NewQueue(c.Env), true, []tool.Tool{asksFirst()} })
			s := hello("t")
			s.Messages[0] = core.UserMessage("approve: it")
			receipt, err := r.Stream(ctx, s, ListenerFunc(discard))
			if err != nil {
				t.Fatal(err)
			}
			run, err := r.ReadRun(ctx, core.Identity{Tenant: "acme"}, receipt.RunID)
			if err != nil || len(run.Tickets) != 1 {
				t.Fatalf("%+v, %v", run, err)
			}
			if err := stream(ctx, r, mailbox.Deciding{Target: run.Tickets[0].Suspension.ID, Decision: core.Decision{Action: core.DecisionResume}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
