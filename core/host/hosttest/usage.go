package hosttest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// Usage tests the recorded usage of a run, also after each failure on its way.
func (o Options) Usage(t *testing.T) {
	t.Run("two stretches", func(t *testing.T) { o.twoStretches(t, 0) })
	t.Run("two stretches, by one process", func(t *testing.T) { o.twoStretches(t, 1) })
	t.Run("two stretches, by two processes in turn", func(t *testing.T) { o.twoStretches(t, 2) })
	t.Run("a run whose thread is deleted", o.usageOfADeletedRun)
	t.Run("after crashes", o.usageAfterCrashes)
	t.Run("an erased thread keeps it", o.usageOfAnErasedThread)
	t.Run("a late record counts once", o.lateUsage)
}

// began is when the runs of these tests are submitted: five seconds to the hour.
var began = time.Date(2026, 3, 1, 9, 59, 55, 0, time.UTC)

// metered is a world whose programs record what runs use.
type metered struct {
	world  *world
	faulty *storetest.Faulty
	warm   []*host.Host // the processes that work in turn; none: each delivery is another's
	worked int          // deliveries
}

func newMetered(t *testing.T, o Options) *metered {
	t.Helper()
	w := newWorld(t, o)
	w.clock = began
	return &metered{world: w, faulty: &storetest.Faulty{Backend: w.store}}
}

// told is what the model says and what that costs.
type told struct{ w *world }

// Stream implements model.Model: a call of risky, and a text after its result.
func (m told) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		m.w.advance(2 * time.Second)
		if r.Messages[len(r.Messages)-1].Role == core.RoleTool {
			_ = yield(model.Delta{Type: model.DeltaText, Text: "done"}, nil) &&
				yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 200, Output: 20, Reasoning: 5}}, nil) &&
				yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
			return
		}
		_ = yield(model.Delta{Type: model.DeltaToolStart, CallID: "c0", Name: "risky"}, nil) &&
			yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil) &&
			yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 100, Output: 10, CacheRead: 40, CacheWrite: 8}}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

// asksFirst is a plugin whose gate lets every call wait for a person.
type asksFirst struct{}

func (asksFirst) ID() string { return "asks" }

func (asksFirst) Register(r *plugin.Registrar) error {
	r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
		return plugin.Suspend(core.TicketRequest{Action: "tool:Permission"}), nil
	})
	return nil
}

// build starts a process.
func (w *metered) build() *host.Host {
	w.world.t.Helper()
	risky := tool.New(tool.Spec{Name: "risky"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		w.world.advance(500 * time.Millisecond)
		return tool.NewResult("ok"), nil
	})
	e := env.System()
	e.Now = w.world.now
	e.Deadline = func(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
		return context.WithCancel(ctx)
	}
	e.Sleep = func(_ context.Context, d time.Duration) error { w.world.advance(d); return nil }
	program, err := host.New(host.Options{
		Env: e, Store: w.faulty, Waker: &w.world.queue, Worker: "w", Logger: slog.New(slog.DiscardHandler), Metering: &host.Metering{Memory: 512},
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: told{w.world}, Name: "gpt-test"}},
			Tools:  []tool.Tool{risky}, Plugins: []plugin.Plugin{asksFirst{}},
			Specs: []agent.Spec{{ID: "clerk", Model: "m", Plugins: []string{"asks"}}},
		},
	})
	if err != nil {
		w.world.t.Fatal(err)
	}
	return program
}

// next is the process that works next.
func (w *metered) next() *host.Host {
	if len(w.warm) == 0 {
		return w.build()
	}
	w.worked++
	return w.warm[w.worked%len(w.warm)]
}

// work handles hints, and sweeps where none comes, until the run waits or is over.
func (w *metered) work(run core.ID) thread.Head {
	w.world.t.Helper()
	for range 60 {
		head := w.world.head()
		if head.Run.Status == thread.Waiting || head.Run.ID != run && len(head.Pending) == 0 {
			return head
		}
		w.world.advance(10 * time.Millisecond)
		program := w.next()
		hint, ok := w.world.receive()
		if !ok {
			w.world.advance(time.Minute)
			_, _ = program.Sweep(w.world.t.Context())
			continue
		}
		_ = program.WorkBatch(w.world.t.Context(), []core.WakeUp{hint})[0]
	}
	w.world.t.Fatal("the run does not end")
	return thread.Head{}
}

// play submits a run, lets it wait for an hour, and takes it to its end.
func (w *metered) play() core.ID {
	w.world.t.Helper()
	id := w.decided()
	w.work(id)
	return id
}

// decided submits a run, lets it wait for an hour, and decides.
func (w *metered) decided() core.ID {
	w.world.t.Helper()
	ctx := w.world.t.Context()
	receipt, err := w.build().Submit(ctx, mailbox.Submission{Thread: theThread, User: "ann", Opening: mailbox.Opening{AgentID: "clerk"}, Messages: []core.Message{core.UserMessage("go")}})
	if err != nil {
		w.world.t.Fatal(err)
	}
	if head := w.work(receipt.RunID); head.Run.Status != thread.Waiting {
		w.world.t.Fatalf("the run is %d, want it to wait", head.Run.Status)
	}
	w.world.advance(began.Add(time.Hour).Sub(w.world.now()))
	decision := mailbox.Deciding{Target: "c0", User: "ann", Decision: core.Decision{ID: "d", Action: core.DecisionResume}}
	id := core.Identity{Tenant: theThread.Tenant, User: "ann"}
	for range 8 {
		if _, err = w.build().DecideThread(ctx, id, theThread.Thread, decision); err == nil {
			break
		}
	}
	if err != nil {
		w.world.t.Fatal(err)
	}
	return receipt.RunID
}

// stretches are the stored records of an hour, without what a backend's units make of them.
func (w *metered) stretches(hour time.Time) (all []account.Record) {
	w.world.t.Helper()
	stored, err := w.world.store.UsageRecords(w.world.t.Context(), theThread.Tenant, calendar.Hour(hour.UnixMilli()), "", 100)
	if err != nil {
		w.world.t.Fatal(err)
	}
	for _, s := range stored {
		var r account.Record
		if err := (thread.Records{}).Decode("usage", s.Payload, &r); err != nil {
			w.world.t.Fatal(err)
		}
		if head := w.world.head(); s.Fence == 0 || s.Fence > head.Fence || s.Version == 0 || s.Version > head.Version {
			w.world.t.Errorf("%s goes with fence %d and version %d, the head has %d and %d", s.Name, s.Fence, s.Version, head.Fence, head.Version)
		}
		r.Spent = core.Spent{Handler: r.Spent.Handler}
		all = append(all, r)
	}
	return all
}

func (o Options) twoStretches(t *testing.T, processes int) {
	w := newMetered(t, o)
	for range processes {
		w.warm = append(w.warm, w.build())
	}
	id := w.play()
	ms := func(offset time.Duration) int64 { return began.Add(offset).UnixMilli() }
	want := []account.Record{
		{User: "ann", Agent: "clerk", Run: id, Stretch: 0, Since: ms(10 * time.Millisecond), Until: ms(2010 * time.Millisecond), End: "waiting",
			Models: []core.ModelUse{{Model: "gpt-test", Usage: core.Usage{Input: 100, Output: 10, CacheRead: 40, CacheWrite: 8}, Inferences: 1, Millis: 2000}},
			Spent:  core.Spent{Handler: 2000}, Memory: 512},
		{User: "ann", Agent: "clerk", Run: id, Stretch: 1, Since: ms(time.Hour + 10*time.Millisecond), Until: ms(time.Hour + 2520*time.Millisecond), End: "natural_end",
			Models: []core.ModelUse{{Model: "gpt-test", Usage: core.Usage{Input: 200, Output: 20, Reasoning: 5}, Inferences: 1, Millis: 2000}},
			Tools:  1, ToolTime: 500, Spent: core.Spent{Handler: 2500}, Memory: 512},
	}
	if diff := cmp.Diff(want, slices.Concat(w.stretches(began), w.stretches(began.Add(time.Hour)))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// usageOfADeletedRun deletes the thread after the tool and before the next model call: no
// worker reaches the end of the stretch.
func (o Options) usageOfADeletedRun(t *testing.T) {
	w := newMetered(t, o)
	id := w.decided()
	w.world.advance(10 * time.Millisecond)
	program := w.build()
	hint, ok := w.world.receive()
	if !ok {
		t.Fatal("no hint follows the decision")
	}
	if err := program.WorkBatch(t.Context(), []core.WakeUp{hint})[0]; err != nil {
		t.Fatal(err)
	}
	if err := program.DeleteThread(t.Context(), core.Identity{Tenant: theThread.Tenant, User: "ann"}, theThread.Thread, mailbox.ChildrenDetach); err != nil {
		t.Fatal(err)
	}
	ms := func(offset time.Duration) int64 { return began.Add(offset).UnixMilli() }
	want := []account.Record{{
		User: "ann", Agent: "clerk", Run: id, Stretch: 1, Since: ms(time.Hour + 10*time.Millisecond), Until: ms(time.Hour + 510*time.Millisecond), End: "deleted",
		Models: []core.ModelUse{}, Tools: 1, ToolTime: 500, Spent: core.Spent{Handler: 500},
	}}
	if diff := cmp.Diff(want, w.stretches(began.Add(time.Hour)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// usageAfterCrashes lets a process die before and after each write and read of the run, one at
// a time. The report has the usage of the log, once.
func (o Options) usageAfterCrashes(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at, done := 1, false; !done; at++ {
			t.Run(fmt.Sprintf("operation %d, after it %t", at, after), func(t *testing.T) {
				w := newMetered(t, o)
				var n atomic.Int64 // reads come side by side
				last := int64(at) + 1
				w.faulty.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
					if submitted := op.Head.Version != 1; n.Load() == 0 && submitted {
						return do(ctx)
					}
					if n.Add(1) != last || op.Method == "Overdue" {
						return do(ctx)
					}
					if after {
						_ = do(ctx)
					}
					return fmt.Errorf("the process has died: %w", errDied)
				}
				w.faulty.OnCommit = w.halves(func() bool { return n.Load() == last && after })
				w.play()
				if done = n.Load() < last; done {
					return
				}
				w.faulty.Around, w.faulty.OnCommit = nil, nil
				got := w.report(account.By{})
				for i := range got {
					r := &got[i]
					r.Spent, r.Billed, r.ModelCost, r.CloudCost = core.Spent{}, 0, nil, nil
				}
				want := []account.Row{{
					Runs: 1, Stretches: 2, Tokens: core.Usage{Input: 300, Output: 30, CacheRead: 40, CacheWrite: 8, Reasoning: 5},
					Inferences: 2, ModelMillis: 4000, Tools: 1, ToolMillis: 500,
				}}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			})
			if at > 400 {
				t.Fatal("no end of operations")
			}
		}
	}
}

var errDied = errors.New("died")

// halves stores everything of a Commit except its head, as a backend without transactions may,
// where that is possible and dies returns true.
func (w *metered) halves(dies func() bool) func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
	usages, ok := w.world.store.(interface {
		PutUsage(tenant string, usage *store.Usage) error
	})
	return func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if !ok || !dies() {
			return w.world.store.Commit(ctx, key, c)
		}
		for _, r := range c.Records {
			if err := w.world.store.Put(ctx, key, r); err != nil {
				return store.Outcome{}, err
			}
		}
		if c.Usage != nil {
			return store.Outcome{}, usages.PutUsage(key.Tenant, c.Usage)
		}
		return store.Outcome{}, nil
	}
}

// prices know the model of these tests.
const prices = `{"models":[{"provider":"p","names":["gpt-test"],"prices":[{"from":"2026-01-01","input":1,"output":10,"source":"a test"}]}]}`

func (w *metered) ledger() *accounting.Ledger {
	w.world.t.Helper()
	models, err := (&catalog.Catalog{}).With([]byte(prices))
	if err != nil {
		w.world.t.Fatal(err)
	}
	ledger, err := accounting.NewLedger(accounting.LedgerOptions{Store: w.world.store, Now: w.world.now, Models: models})
	if err != nil {
		w.world.t.Fatal(err)
	}
	return ledger
}

func (w *metered) report(by account.By) []account.Row {
	w.world.t.Helper()
	rows, err := w.ledger().Report(w.world.t.Context(), account.Query{Tenant: theThread.Tenant, From: began, To: began.Add(24 * time.Hour), By: by})
	if err != nil {
		w.world.t.Fatal(err)
	}
	return rows
}

func (w *metered) sum() (summed int) {
	w.world.t.Helper()
	for shard := range store.Shards {
		n, err := w.ledger().Sum(w.world.t.Context(), shard, w.world.now().Add(time.Minute))
		if err != nil {
			w.world.t.Fatal(err)
		}
		summed += n
	}
	return summed
}

func (o Options) usageOfAnErasedThread(t *testing.T) {
	w := newMetered(t, o)
	w.play()
	before := w.report(account.By{Day: true, User: true, Agent: true, Model: true})
	program := w.build()
	if err := program.DeleteThread(t.Context(), core.Identity{Tenant: theThread.Tenant, User: "ann"}, theThread.Thread, mailbox.ChildrenDetach); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if hint, ok := w.world.receive(); ok {
			_ = program.WorkBatch(t.Context(), []core.WakeUp{hint})[0]
		}
	}
	if records, err := w.world.store.Records(t.Context(), theThread, "", "", 10); err != nil || len(records) > 0 {
		t.Fatalf("%d records of the thread are left, error %v", len(records), err)
	}
	if diff := cmp.Diff(before, w.report(account.By{Day: true, User: true, Agent: true, Model: true})); diff != "" || len(before) != 2 {
		t.Errorf("%d rows before, and then (-before +after):\n%s", len(before), diff)
	}
}

// lateUsage puts a record into an hour that was summed, twice: the second put is that of
// another claim, which has found more.
func (o Options) lateUsage(t *testing.T) {
	w := newMetered(t, o)
	w.play()
	if n := w.sum(); n != 1 {
		t.Fatalf("%d hours are summed, want the first alone: the second has not passed", n)
	}
	w.world.advance(time.Date(2026, 3, 1, 11, 14, 59, 0, time.UTC).Sub(w.world.now()))
	if n := w.sum(); n != 0 {
		t.Fatalf("%d hours are summed before they have settled", n)
	}
	w.world.advance(time.Second)
	if n := w.sum(); n != 1 {
		t.Fatalf("%d hours are summed, want the second", n)
	}
	if n := w.sum(); n != 0 {
		t.Fatalf("%d hours are summed again", n)
	}
	tokens := func() core.Usage { return w.report(account.By{})[0].Tokens }
	if got := tokens(); got.Input != 300 {
		t.Errorf("%d tokens from the sums, want 300", got.Input)
	}
	key := core.ThreadKey{Tenant: theThread.Tenant, Thread: "late"}
	for i, input := range []int{1000, 1001} {
		r := account.Record{Agent: "clerk", Run: core.ID{9}, Models: []core.ModelUse{{Model: "gpt-test", Usage: core.Usage{Input: input}}}}
		payload, err := (thread.Records{}).Encode("usage", &r)
		if err != nil {
			t.Fatal(err)
		}
		c := store.Commit{Head: thread.Head{Layout: 1, Version: uint64(i + 1), Fence: 3}, Usage: &store.Usage{Hour: calendar.Hour(began.UnixMilli()), Record: store.Record{
			Name: recordname.Usage(core.ID{9}, 0), Fence: 3, Version: uint64(i + 1), Payload: payload,
		}}}
		if out, err := w.world.store.Commit(t.Context(), key, c); err != nil || !out.Written {
			t.Fatalf("%+v, %v", out, err)
		}
		if got := tokens(); got.Input != 300+input {
			t.Errorf("%d tokens while the hour is marked, want %d", got.Input, 300+input)
		}
		if n := w.sum(); n != 1 {
			t.Errorf("%d hours are summed, want 1", n)
		}
		if got := tokens(); got.Input != 300+input {
			t.Errorf("%d tokens from the sums, want %d", got.Input, 300+input)
		}
	}
}
