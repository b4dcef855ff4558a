package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// failingRead is a store of which one read fails.
type failingRead struct {
	*storetest.Faulty
	mu        sync.Mutex
	at, count int // the read that fails, and how many there were
}

func newFailingRead(r *rig) *failingRead {
	f := &failingRead{Faulty: &storetest.Faulty{Backend: r.store}}
	f.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if !op.Writes() {
			f.mu.Lock()
			f.count++
			hit := f.count == f.at
			f.mu.Unlock()
			if hit {
				return errReset
			}
		}
		return do(ctx)
	}
	return f
}

// Whatever read of the store fails: the call that needs it fails with that error, and with
// no other, such as that what could not be read does not exist.
func TestAReadThatFailsIsTheErrorOfItsCall(t *testing.T) {
	r := newRig(t)
	failing := newFailingRead(r)
	p := confirming(t, failing)
	ann := core.Identity{Tenant: "acme", User: "ann"}
	say(t, p, "acme", "t", "ann", "hello")
	receipt := ask(t, p, "acme", "t", "ann", fmt.Sprintf(confirmed, "one"))
	queued, err := p.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, User: "ann", Messages: []core.Message{core.UserMessage("later")},
		Mode: mailbox.ModeQueue, Opening: mailbox.Opening{AgentID: "demo", Delay: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := p.ReadRun(t.Context(), ann, receipt.RunID)
	if err != nil || len(waiting.Tickets) != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	d := mailbox.Deciding{Target: waiting.Tickets[0].Suspension.ID, Decision: core.Decision{Action: "neither"}}
	input := []core.Message{core.UserMessage("changed")}
	messages := func(q host.MessageQuery) func(context.Context) error {
		return func(ctx context.Context) error { _, err := p.Messages(ctx, ann, "t", q); return err }
	}
	for name, call := range map[string]func(context.Context) error{
		"thread":              func(ctx context.Context) error { _, err := p.Thread(ctx, ann, "t"); return err },
		"messages":            messages(host.MessageQuery{}),
		"newest messages":     messages(host.MessageQuery{Newest: true}),
		"messages backwards":  messages(host.MessageQuery{Descending: true}),
		"messages of a run":   messages(host.MessageQuery{Run: receipt.RunID}),
		"state":               func(ctx context.Context) error { _, err := p.State(ctx, ann, "t", nil); return err },
		"state at a revision": func(ctx context.Context) error { _, err := p.State(ctx, ann, "t", new(uint64)); return err },
		"patches": func(ctx context.Context) error {
			_, err := p.StatePatches(ctx, ann, "t", host.StateQuery{})
			return err
		},
		"mailbox":          func(ctx context.Context) error { _, err := p.Mailbox(ctx, ann, "t", mailbox.ListQuery{}); return err },
		"runs of a thread": func(ctx context.Context) error { _, err := p.Runs(ctx, ann, host.RunQuery{Thread: "t"}); return err },
		"runs":             func(ctx context.Context) error { _, err := p.Runs(ctx, ann, host.RunQuery{}); return err },
		"threads":          func(ctx context.Context) error { _, err := p.Threads(ctx, ann, host.ThreadQuery{}); return err },
		"children": func(ctx context.Context) error {
			_, err := p.Threads(ctx, ann, host.ThreadQuery{Parent: "t"})
			return err
		},
		"approvals":  func(ctx context.Context) error { _, err := p.Approvals(ctx, ann, host.ApprovalQuery{}); return err },
		"active":     func(ctx context.Context) error { _, _, err := p.ActiveRun(ctx, ann, "t"); return err },
		"key":        func(ctx context.Context) error { _, _, err := p.RunOfKey(ctx, ann, "t", "k"); return err },
		"run":        func(ctx context.Context) error { _, err := p.ReadRun(ctx, ann, receipt.RunID); return err },
		"queued run": func(ctx context.Context) error { _, err := p.ReadRun(ctx, ann, queued.RunID); return err },
		"steps": func(ctx context.Context) error {
			_, err := p.Steps(ctx, ann, receipt.RunID, host.StepQuery{})
			return err
		},
		"events": func(ctx context.Context) error {
			_, err := p.Committed(ctx, ann, receipt.RunID, host.EventQuery{})
			return err
		},
		"ready": p.Ready,
	} {
		t.Run(name, func(t *testing.T) {
			for failing.at = 1; ; failing.at++ {
				failing.count = 0
				err := call(t.Context())
				if failing.count < failing.at {
					if err != nil && core.CodeOf(err) != core.CodeNotFound {
						t.Errorf("without a fault: %v", err)
					}
					break
				}
				if !errors.Is(err, errReset) {
					t.Errorf("read %d fails: %v", failing.at, err)
				}
			}
			if failing.at == 1 {
				t.Error("it reads nothing")
			}
		})
	}
	// The first read of what writes: nothing is written then.
	for name, call := range map[string]func(context.Context) error{
		"update": func(ctx context.Context) error {
			_, err := p.UpdateThread(ctx, ann, "t", host.ThreadChange{})
			return err
		},
		"delete":       func(ctx context.Context) error { return p.DeleteThread(ctx, ann, "t", "") },
		"cancel":       func(ctx context.Context) error { _, err := p.CancelThread(ctx, ann, "t"); return err },
		"cancel a run": func(ctx context.Context) error { return p.CancelRun(ctx, ann, receipt.RunID) },
		"interrupt":    func(ctx context.Context) error { _, err := p.InterruptThread(ctx, ann, "t", ""); return err },
		"edit":         func(ctx context.Context) error { return p.EditInput(ctx, ann, "t", queued.DispatchID, input) },
		"retract":      func(ctx context.Context) error { return p.RetractInput(ctx, ann, "t", queued.DispatchID) },
		"fork":         func(ctx context.Context) error { _, err := p.Fork(ctx, ann, "t", "m", "copy"); return err },
		"decide":       func(ctx context.Context) error { _, err := p.Decide(ctx, ann, receipt.RunID, d); return err },
		"retry":        func(ctx context.Context) error { _, err := p.RetryRun(ctx, ann, receipt.RunID); return err },
		"take up":      func(ctx context.Context) error { _, err := p.TakeUp(ctx, ann, receipt.RunID); return err },
		"submit to": func(ctx context.Context) error {
			_, err := p.SubmitTo(ctx, ann, receipt.RunID, mailbox.Submission{Messages: input})
			return err
		},
		"follow": func(ctx context.Context) error {
			return p.Follow(ctx, ann, receipt.RunID, host.ListenerFunc(func(core.Event) error { return nil }))
		},
	} {
		failing.at, failing.count = 1, 0
		if err := call(t.Context()); !errors.Is(err, errReset) || failing.count == 0 {
			t.Errorf("%s: %v after %d reads", name, err, failing.count)
		}
	}
}
