package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// billed is a model whose every turn uses 100 tokens in and 10 out.
type billed struct{ model.Model }

func (m billed) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for d, err := range m.Model.Stream(ctx, request) {
			if err == nil && d.Type == model.DeltaUsage {
				continue
			}
			if err == nil && d.Type == model.DeltaStop && !yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 100, Output: 10}}, nil) {
				return
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// limited gives a process limits for everybody, and turns of 110 tokens that cost one
// cent each.
func limited(l account.Limits) func(*host.Options) {
	return func(c *host.Options) {
		c.Limits = account.Tenants{Default: l}
		m := c.Agents.Models["m"]
		m.Model = billed{m.Model}
		c.Agents.Models["m"] = m
		c.Prices = func(_, model string, u core.Usage, _ time.Time) (core.USD, bool) {
			return core.USD(u.Input) * core.USD(1e9) / 10_000, model == "scripted"
		}
	}
}

// counters is what is counted of the tenant today.
func (r *rig) counters(process *host.Host) string {
	r.t.Helper()
	l, err := process.Limits(r.t.Context(), local.Tenant)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%d runs, %d tokens, %s USD, %d slots", l.Used.Runs, l.Used.Tokens, l.Used.Spend, len(l.Used.Slots))
}

func (r *rig) wantCounters(process *host.Host, when, want string) {
	r.t.Helper()
	if got := r.counters(process); got != want {
		r.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// submits submits, and works off what there is to do.
func (r *rig) submits(process *host.Host, thread, text string) mailbox.Receipt {
	r.t.Helper()
	receipt, err := process.Submit(r.t.Context(), submission(thread, text))
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt
}

func (r *rig) ended(process *host.Host, run core.ID) core.Run {
	r.t.Helper()
	read, err := process.ReadRun(r.t.Context(), local, run)
	if err != nil || read.Termination == nil {
		r.t.Fatalf("run %+v, %v", read, err)
	}
	return read
}

func TestARunHasASlotUntilItIsOverAndIsChargedPerTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{RunsADay: 5, SpendADay: core.USD(1e9)}))
		receipt := r.submits(process, "t1", "echo: hello")
		r.wantCounters(process, "queued", "1 runs, 0 tokens, 0 USD, 1 slots")
		r.settle(process, submission("t1", "").Thread)
		r.wantCounters(process, "over", "1 runs, 220 tokens, 0.02 USD, 0 slots")
		if read := r.ended(process, receipt.RunID); read.Termination.Type != core.TerminationNatural || read.Steps != 2 {
			t.Errorf("run %+v", read)
		}
	})
}

func TestRefusedAtEachLimit(t *testing.T) {
	tests := []struct {
		limits account.Limits
		before []string // runs that are worked off first
		queued []string // threads with a run that is queued
		code   core.Code
		want   account.ReachedError
	}{
		{account.Limits{RunsADay: 2}, []string{"echo: a"}, []string{"q1"}, core.CodeTenantLimit, account.ReachedError{Limit: account.RunsADay, Allowed: "2", Used: "2", Ends: 1}},
		{account.Limits{TokensADay: 220}, []string{"echo: a"}, nil, core.CodeTenantLimit, account.ReachedError{Limit: account.TokensADay, Allowed: "220", Used: "220", Ends: 1}},
		{account.Limits{SpendADay: core.USD(1e9) / 50}, []string{"echo: a"}, nil, core.CodeTenantSpend, account.ReachedError{Limit: account.SpendADay, Allowed: "0.02", Used: "0.02", Ends: 1}},
		{account.Limits{ConcurrentRuns: 2}, []string{"echo: a"}, []string{"q1", "q1"}, core.CodeTenantLimit, account.ReachedError{Limit: account.ConcurrentRuns, Allowed: "2", Used: "2"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.want.Limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, limited(tt.limits))
				for i, text := range tt.before {
					thread := fmt.Sprintf("b%d", i)
					r.submits(process, thread, text)
					r.settle(process, submission(thread, "").Thread)
				}
				for _, thread := range tt.queued {
					r.submits(process, thread, "echo: x")
				}
				before := r.counters(process)
				_, err := process.Submit(t.Context(), submission("new", "echo: x"))
				reached, ok := errors.AsType[*account.ReachedError](err)
				if !ok || core.CodeOf(err) != tt.code {
					t.Fatalf("Submit returns %v, want code %s", err, tt.code)
				}
				if tt.want.Ends != 0 { // the clock began in 2000, at midnight UTC
					tt.want.Ends = time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
				}
				if diff := cmp.Diff(tt.want, *reached); diff != "" {
					t.Errorf("reached (-want +got):\n%s", diff)
				}
				r.wantCounters(process, "refused", before)
				if head := r.head(submission("new", "").Thread); head.Exists() {
					t.Errorf("the refused submission has made a thread")
				}
				time.Sleep(24 * time.Hour)
				if _, err := process.Submit(t.Context(), submission("new", "echo: x")); tt.want.Ends != 0 && err != nil {
					t.Errorf("on the next day: %v", err)
				}
			})
		})
	}
}

func TestOverALimitARunEndsBeforeItsNextInference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{TokensADay: 50}))
		r.submits(process, "t1", "echo: hello") // its first turn is over the limit by itself
		queued := r.submits(process, "t2", "echo: hello")
		first := r.head(submission("t1", "").Thread).Pending[0].Run
		r.settle(process, submission("t1", "").Thread, submission("t2", "").Thread)
		read := r.ended(process, first)
		if read.Termination.Type != core.TerminationStopped || read.Termination.Code != "tenant_limit" || read.Steps != 1 || r.runs["t1 hello"] != 1 {
			t.Errorf("run %+v, its tool ran %d times", read, r.runs["t1 hello"])
		}
		if !strings.Contains(read.Termination.Detail, "tokens_a_day") {
			t.Errorf("detail %q does not name the limit", read.Termination.Detail)
		}
		read = r.ended(process, queued.RunID)
		if read.Termination.Type != core.TerminationStopped || read.Steps != 0 {
			t.Errorf("queued run %+v", read)
		}
		if r.inferences != 1 {
			t.Errorf("%d inferences, want 1", r.inferences)
		}
		r.wantCounters(process, "over", "2 runs, 110 tokens, 0 USD, 0 slots")
	})
}

func TestANaturalEndOverALimitIsNatural(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{TokensADay: 50}))
		receipt := r.submits(process, "t1", "hello")
		r.settle(process, submission("t1", "").Thread)
		if read := r.ended(process, receipt.RunID); read.Termination.Type != core.TerminationNatural {
			t.Errorf("run %+v", read)
		}
	})
}

func TestAWaitingRunHasNoSlotAndTakesItAgainUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withHelper, limited(account.Limits{ConcurrentRuns: 1}))
		asks := r.submits(process, "t1", "call: ask")
		key := submission("t1", "").Thread
		r.settle(process, key)
		if head := r.head(key); head.Run.Status != thread.Waiting {
			t.Fatalf("the run does not wait: %+v", head.Run)
		}
		r.wantCounters(process, "waiting", "1 runs, 110 tokens, 0 USD, 0 slots")
		r.submits(process, "t2", "echo: x") // which takes the only slot
		if _, err := process.Submit(t.Context(), submission("t3", "x")); core.CodeOf(err) != core.CodeTenantLimit {
			t.Errorf("a second run is admitted: %v", err)
		}
		r.decide(process, asks.RunID)
		r.settle(process, key)
		if read := r.ended(process, asks.RunID); read.Termination.Type != core.TerminationNatural {
			t.Errorf("run %+v", read)
		}
		r.settle(process, submission("t2", "").Thread)
		r.wantCounters(process, "over", "2 runs, 440 tokens, 0 USD, 0 slots")
	})
}

func TestAChildWaitsForNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withHelper, limited(account.Limits{ConcurrentRuns: 1, RunsADay: 2}))
		s := submission("t1", `call: delegate {"prompt":"echo: hello","mode":"replay_tool_call"}`)
		receipt, child := r.delegates(process, s)
		r.settle(process, s.Thread, child)
		if read := r.ended(process, receipt.RunID); read.Termination.Type != core.TerminationNatural || !strings.Contains(read.Response, "natural_end after 2: Echo: hello") {
			t.Errorf("run %+v", read)
		}
		r.wantCounters(process, "over", "2 runs, 440 tokens, 0 USD, 0 slots")
	})
}

func TestAChildIsRefusedByALimitOfTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, withHelper, limited(account.Limits{RunsADay: 1}))
		s := submission("t1", `call: delegate {"prompt":"echo: hello","mode":"replay_tool_call"}`)
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.settle(process, s.Thread)
		if read := r.ended(process, receipt.RunID); read.Termination.Type != core.TerminationNatural || !strings.Contains(read.Response, "runs_a_day") {
			t.Errorf("run %+v", read)
		}
	})
}

func TestARefusedEnqueueGivesTheSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{ConcurrentRuns: 5, RunsADay: 10}))
		r.submits(process, "t1", "echo: hello")
		s := submission("t1", "echo: again")
		s.Mode = mailbox.ModeReject
		if _, err := process.Submit(t.Context(), s); !errors.Is(err, thread.ErrBusy) {
			t.Fatalf("Submit returns %v", err)
		}
		r.wantCounters(process, "refused", "1 runs, 0 tokens, 0 USD, 1 slots")
	})
}

// Who is cut off while the write is on its way does not know whether the run is queued.
func TestWhoIsCutOffAtTheEnqueueKeepsTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		cut := &storetest.Faulty{Backend: r.store, OnCommit: func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			cancel(thread.ErrSuperseded) // as a parent's step is
			return store.Outcome{}, context.Cause(ctx)
		}}
		process := r.process("w", cut, limited(account.Limits{ConcurrentRuns: 5, RunsADay: 10}))
		if _, err := process.Submit(ctx, submission("t1", "echo: hello")); !errors.Is(err, thread.ErrSuperseded) {
			t.Fatalf("Submit returns %v", err)
		}
		r.wantCounters(process, "cut off", "1 runs, 0 tokens, 0 USD, 1 slots")
	})
}

func TestARetryIsAdmittedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{ConcurrentRuns: 1}))
		s := submission("t1", "echo: hello")
		s.Key.Value = "k"
		cut := &storetest.Faulty{Backend: r.store, OnCommit: func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			return store.Outcome{}, errReset
		}}
		dies := r.process("dies", cut, limited(account.Limits{ConcurrentRuns: 1}))
		if _, err := dies.Submit(t.Context(), s); err == nil {
			t.Fatal("the first try was accepted")
		}
		r.wantCounters(process, "after the first try", "1 runs, 0 tokens, 0 USD, 1 slots")
		first, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.wantCounters(process, "after the second", "1 runs, 0 tokens, 0 USD, 1 slots")
		if again, err := process.Submit(t.Context(), s); err != nil || !again.Duplicate || again.RunID != first.RunID {
			t.Errorf("the third try returns %+v, %v", again, err)
		}
		r.settle(process, s.Thread)
		r.wantCounters(process, "over", "1 runs, 220 tokens, 0 USD, 0 slots")
	})
}

func TestTheSweepGivesBackWhatACrashHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{ConcurrentRuns: 2}))
		if _, _, err := r.store.Admit(t.Context(), local.Tenant, admitting("never")); err != nil {
			t.Fatal(err)
		}
		r.sweep(process)
		r.wantCounters(process, "at once", "1 runs, 0 tokens, 0 USD, 1 slots")
		time.Sleep(3 * time.Minute)
		r.sweep(process)
		r.wantCounters(process, "when it cannot be under way any more", "0 runs, 0 tokens, 0 USD, 0 slots")

		receipt := r.submits(process, "t1", "echo: hello")
		key := submission("t1", "").Thread
		r.settle(process, key)
		// As if the process had died before it gave the slot back, and once before a commit.
		day := calendar.Day(time.Now().UnixMilli())
		slot := store.Slot{Thread: "t1", Since: time.Now().UnixMilli(), Tokens: 220}
		if _, _, err := r.store.Admit(t.Context(), local.Tenant, store.Admitting{Day: day, Run: receipt.RunID, Slot: slot, Again: true}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.store.Charge(t.Context(), local.Tenant, store.Use{Day: day, Run: receipt.RunID, Slot: slot, Tokens: 30}); err != nil {
			t.Fatal(err)
		}
		r.wantCounters(process, "crashed", "1 runs, 250 tokens, 0 USD, 1 slots")
		r.sweep(process)
		r.wantCounters(process, "swept", "1 runs, 220 tokens, 0 USD, 0 slots")
	})
}

func TestCancelledInTheQueueHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{ConcurrentRuns: 3}))
		r.submits(process, "t1", "echo: one")
		second := r.submits(process, "t1", "echo: two")
		if err := process.CancelRun(t.Context(), local, second.RunID); err != nil {
			t.Fatal(err)
		}
		r.wantCounters(process, "cancelled", "2 runs, 0 tokens, 0 USD, 1 slots")
		s := submission("t1", "echo: three")
		s.Mode = mailbox.ModeInterrupt
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		r.wantCounters(process, "interrupted", "3 runs, 0 tokens, 0 USD, 1 slots")
	})
}

func TestAModelWithoutAPriceFailsBuild(t *testing.T) {
	r := newRig(t)
	config := host.Options{
		Env: steady(), Store: r.store, Waker: r.queue, Logger: quiet,
		Limits: account.Tenants{Tenants: map[string]account.Limits{"acme": {SpendADay: core.USD(1e9)}}},
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: counted{nil, r}, Name: "unheard-of"}},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	}
	_, err := host.New(config)
	if err == nil || core.CodeOf(err) != core.CodeInvalid || !strings.Contains(err.Error(), `agent "demo"`) || !strings.Contains(err.Error(), "unheard-of") {
		t.Fatalf("Build returns %v", err)
	}
	config.Prices = func(_, model string, _ core.Usage, _ time.Time) (core.USD, bool) { return 1, model == "unheard-of" }
	if _, err := host.New(config); err != nil {
		t.Errorf("with a price: %v", err)
	}
}

// elsewhere is a plugin that asks for another model of the provider.
type elsewhere struct{}

func (elsewhere) ID() string { return "elsewhere" }

func (elsewhere) Register(r *plugin.Registrar) error {
	r.OnBeforeInference(func(context.Context, plugin.BeforeInference) (state.Command, error) {
		return plugin.SetInferenceOverride.Schedule(model.Override{UpstreamModel: "dear"}), nil
	})
	return nil
}

func TestAnotherModelWithoutAPriceIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{SpendADay: core.USD(1e9)}), func(c *host.Options) {
			c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{elsewhere{}}, []string{"elsewhere"}
		})
		receipt := r.submits(process, "t1", "hello")
		r.settle(process, submission("t1", "").Thread)
		if end := r.ended(process, receipt.RunID).Termination; end.Type != core.TerminationError || end.Code != "unpriced_model" || r.inferences != 0 {
			t.Errorf("the run ends %+v after %d inferences", end, r.inferences)
		}
	})
}

func TestWithoutLimitsNothingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, func(c *host.Options) {
			c.Limits = account.Tenants{Tenants: map[string]account.Limits{"acme": {RunsADay: 1}}}
		})
		r.submits(process, "t1", "echo: hello")
		r.settle(process, submission("t1", "").Thread)
		if a, err := r.store.Admission(t.Context(), local.Tenant, calendar.Day(time.Now().UnixMilli())); err != nil || a.Runs != 0 {
			t.Errorf("admission %+v, %v", a, err)
		}
	})
}

func admitting(thread string) store.Admitting {
	now := time.Now().UnixMilli()
	return store.Admitting{Day: calendar.Day(now), Run: core.ID{9}, Slot: store.Slot{Thread: thread, Since: now}}
}

func (r *rig) sweep(process *host.Host) {
	r.t.Helper()
	if _, err := process.Sweep(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}
