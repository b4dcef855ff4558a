package host_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// upfront says at once what it was given to read, as some providers do, and speaks until
// nobody listens any more.
type upfront struct{ begun chan struct{} }

func (m upfront) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 1000, Output: 10}}, nil) &&
			yield(model.Delta{Type: model.DeltaText, Text: "all that was asked for"}, nil)
		close(m.begun)
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}
}

func TestAnInferenceThatIsEndedIsCharged(t *testing.T) {
	for _, test := range []struct {
		name    string
		metered bool
		end     func(*host.Host, mailbox.Receipt) error
	}{
		{"cancelled", false, func(p *host.Host, r mailbox.Receipt) error { return p.CancelRun(t.Context(), local, r.RunID) }},
		{"cancelled, and usage is recorded", true, func(p *host.Host, r mailbox.Receipt) error { return p.CancelRun(t.Context(), local, r.RunID) }},
		{"its thread is deleted", false, func(p *host.Host, _ mailbox.Receipt) error {
			return p.DeleteThread(t.Context(), local, "t1", "")
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			begun := make(chan struct{})
			process := r.process("w", r.store, limited(account.Limits{TokensADay: 1000, SpendADay: core.USD(1e9)}), func(c *host.Options) {
				m := c.Agents.Models["m"]
				m.Model = upfront{begun}
				c.Agents.Models["m"] = m
				if test.metered {
					c.Metering = &host.Metering{}
				}
			})
			receipt := r.submits(process, "t1", "tell me all")
			over := make(chan struct{})
			go func() {
				defer close(over)
				hint, _ := r.queue.Receive()
				_ = process.WorkLocal(t.Context(), hint) // of a deleted thread it says that the claim is lost
			}()
			<-begun
			if err := test.end(process, receipt); err != nil {
				t.Fatal(test.name, err)
			}
			<-over
			r.sweep(process)
			r.wantCounters(process, test.name, "1 runs, 1010 tokens, 0.1 USD, 0 slots")
			if _, err := process.Submit(t.Context(), submission("t2", "again")); core.CodeOf(err) != core.CodeTenantLimit {
				t.Errorf("over its limit the tenant is answered %v, want %v", err, core.CodeTenantLimit)
			}
		})
	}
}

// failing ends each call of its model with an error behind its usage, but the last.
type failing struct {
	model.Model
	times *int
	kind  model.ErrorKind
}

func (m failing) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if *m.times == 0 {
			m.Model.Stream(ctx, request)(yield)
			return
		}
		*m.times--
		_ = yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 100}}, nil) &&
			yield(model.Delta{}, &model.Error{Kind: m.kind, RetryAfter: 5 * time.Minute})
	}
}

// The first call of three is given back with its claim, the others bring a turn each.
func TestACallThatIsTriedAgainIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, times := newRig(t), 1
		var slots []bool
		faulty := &storetest.Faulty{Backend: r.store}
		faulty.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
			slots = append(slots, c.Slot != store.Slot{})
			return faulty.Backend.Charge(ctx, tenant, c)
		}
		process := r.process("w", faulty, limited(account.Limits{TokensADay: 10_000}), func(c *host.Options) {
			m := c.Agents.Models["m"]
			m.Model = failing{m.Model, &times, model.KindRateLimited}
			c.Agents.Models["m"] = m
		})
		r.submits(process, "t1", "echo: once more")
		r.settle(process, submission("t1", "").Thread)
		if diff := cmp.Diff([]bool{false, true, true}, slots); diff != "" {
			t.Errorf("charges with a slot (-want +got):\n%s", diff)
		}
		r.wantCounters(process, "over", "1 runs, 320 tokens, 0 USD, 0 slots")
		r.sweep(process)
		r.wantCounters(process, "swept", "1 runs, 320 tokens, 0 USD, 0 slots")
	})
}

// cancelledBehindItsCharge submits a run that is cancelled between what its first step
// charges and its commit, and waits for its end.
func (r *rig) cancelledBehindItsCharge(process *host.Host, faulty *storetest.Faulty) {
	r.t.Helper()
	receipt := r.submits(process, "t1", "echo: refused")
	faulty.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
		faulty.OnCharge = nil
		after, charged, err := faulty.Backend.Charge(ctx, tenant, c)
		if err := process.CancelRun(ctx, local, receipt.RunID); err != nil {
			r.t.Error(err)
		}
		return after, charged, err
	}
	r.settle(process, submission("t1", "").Thread)
	if run := r.ended(process, receipt.RunID); run.Termination.Type != core.TerminationCancelled {
		r.t.Errorf("the run ended as %+v, want cancelled", run.Termination)
	}
}

// A turn is charged, and the commit that would bring it is refused since the run was
// cancelled: it counts once.
func TestATurnThatWasChargedAndRefusedCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		faulty := &storetest.Faulty{Backend: r.store}
		process := r.process("w", faulty, limited(account.Limits{TokensADay: 10_000}))
		r.cancelledBehindItsCharge(process, faulty)
		r.wantCounters(process, "cancelled", "1 runs, 110 tokens, 0 USD, 0 slots")
	})
}

// A run fails, and is cancelled between what that charges and its commit: the close that
// follows does not charge it again.
func TestAFailedInferenceOfACancelledRunCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, times := newRig(t), 1
		faulty := &storetest.Faulty{Backend: r.store}
		process := r.process("w", faulty, limited(account.Limits{TokensADay: 10_000}), func(c *host.Options) {
			m := c.Agents.Models["m"]
			m.Model = failing{m.Model, &times, model.KindUnauthorized}
			c.Agents.Models["m"] = m
		})
		r.cancelledBehindItsCharge(process, faulty)
		r.wantCounters(process, "cancelled", "1 runs, 100 tokens, 0 USD, 0 slots")
	})
}
