package host

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A run that is no suspect any more does not wait for itself, however long it has waited.
func TestWhoIsNoSuspectAnyMoreStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPermits(env.System())
		running, n := p.newPermit(), p.newPermit()
		if !p.tryAcquire(running, false, false) || p.tryAcquire(n, true, false) {
			t.Fatal("a suspect starts beside a run")
		}
		time.Sleep(permitPatience + time.Second)
		if !p.tryAcquire(n, false, false) {
			t.Error("it waits on")
		}
	})
}

// The time of a run's handler ends with its steps, however the stream goes on.
func TestTheTimeOfAStreamsHandlerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := &storetest.Faulty{Backend: memory.New()}
		metered := func(c *Options) { c.Store, c.Metering, c.Agents.Tools = over, &Metering{}, []tool.Tool{asksFirst()} }
		r, queue := program(t, metered)
		at := func(what string, want int) {
			t.Helper()
			if got := r.worker.meter.handlers.active; got != want {
				t.Errorf("%s: %d handlers are active, want %d", what, got, want)
			}
		}
		s := hello("t")
		s.Messages[0] = core.UserMessage("approve: it")
		receipt, err := r.Stream(t.Context(), s, ListenerFunc(discard))
		at("a stream has ended", 0)
		run, unread := r.ReadRun(t.Context(), acme, receipt.RunID)
		if err != nil || unread != nil || len(run.Tickets) != 1 {
			t.Fatalf("%+v, %v, %v", run, err, unread)
		}
		if _, err := r.StreamDecisions(t.Context(), acme, "t", []mailbox.Deciding{Approve(run.Tickets[0])}, ListenerFunc(discard)); err != nil {
			t.Error(err)
		}
		at("decisions have ended", 0)
		if _, err := r.Submit(t.Context(), hello("u")); err != nil {
			t.Fatal(err)
		}
		behind := hello("u")
		behind.Mode = mailbox.ModeQueue
		other, _ := program(t, func(c *Options) {
			metered(c)
			c.Waker = queue
		})
		done := make(chan error)
		go func() {
			_, err := r.Stream(t.Context(), behind, ListenerFunc(discard))
			done <- err
		}()
		synctest.Wait()
		at("a stream follows", 0)
		workAll(t, other, queue)
		if err := <-done; err != nil {
			t.Error(err)
		}
		over.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			return store.Outcome{}, errAway
		}
		if _, err := r.Stream(t.Context(), hello("v"), ListenerFunc(discard)); !errors.Is(err, errAway) {
			t.Error(err)
		}
		at("a stream is refused", 0)
	})
}

// The clients of a run that goes on may have left: its stream reads under a context that
// goes on, too. Other streams read for their clients alone.
func TestForWhomAStreamOfDecisionsReads(t *testing.T) {
	for _, goesOn := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := waitsForTwo(t)
			a.decides(t, 0)
			all := []mailbox.Deciding{a.allows(0)}
			if goesOn {
				all = append(all, a.allows(1))
			}
			a.over.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return do(ctx)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := a.StreamDecisions(gone, acme, "t", all, &hearer{})
			if (err == nil) != goesOn || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("it goes on %t: %v", goesOn, err)
			}
			if run, err := a.ReadRun(t.Context(), acme, a.run); err != nil || (run.Status == core.RunDone) != goesOn {
				t.Errorf("it goes on %t: %s, %v", goesOn, run.Status, err)
			}
		})
	}
}

// What a worker adds between two decisions of one request is new to the client.
func TestAResultBetweenTwoDecisionsIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := waitsForTwo(t)
		commits := 0
		a.over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if commits++; commits == 2 {
				if err := a.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}); err != nil {
					t.Error(err)
				}
			}
			return a.over.Backend.Commit(ctx, key, c)
		}
		h := &hearer{}
		if _, err := a.StreamDecisions(t.Context(), acme, "t", []mailbox.Deciding{a.allows(0), a.allows(1)}, h); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(h.brief(), "done:"); n != 2 {
			t.Errorf("shown %q, want two results", h.brief())
		}
	})
}

// A state that a stream does not know any more is not shown in place of the one that it
// cannot read.
func TestAnOldStateIsNotShown(t *testing.T) {
	h := &hearer{wants: wantsState}
	f := following(&told{unknown: true}, h)
	f.stream.begin(core.Run{ID: theRun, FirstSeq: 1})
	h.events = nil
	f.stream.setState(state.Snapshot{}.With(3, valuesOf("1")), theRun)
	f.stream.place.next = 3
	if err := f.showState(t.Context(), runningAt(2, 1, thread.CursorInfer)); err != nil || h.brief() != "" || f.stream.state.fold != nil {
		t.Errorf("%v, shown %q", err, h.brief())
	}
}

// A suspect that a program steps is none as soon as it has stored a result.
func TestAResultSettlesTheSuspectOfAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *Host
		var alone []bool
		r, _ = program(t, func(c *Options) {
			c.Waker, c.alone, c.Agents.Specs[0].ExecutionMode = NewQueue(c.Env), true, agent.ParallelStreaming
			c.Agents.Tools = []tool.Tool{tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
				Text string `json:"text"`
			}) (string, error) {
				if a.Text == "late" {
					time.Sleep(time.Second)
				}
				r.worker.permits.mu.Lock()
				defer r.worker.permits.mu.Unlock()
				alone = append(alone, r.worker.permits.suspect != nil)
				return a.Text, nil
			})}
		})
		s := hello("t")
		s.Messages[0] = core.UserMessage("parallel: soon, late")
		receipt, err := r.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true); !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(10 * time.Minute)
		}
		if err := r.Follow(t.Context(), acme, receipt.RunID, ListenerFunc(discard)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]bool{false, false}, alone); diff != "" {
			t.Errorf("alone at each call (-want +got):\n%s", diff)
		}
	})
}

// A wake-up whose time is over is sent again and claims nothing; if it cannot be sent, it
// has failed.
func TestAWakeUpWhoseTimeIsOver(t *testing.T) {
	for name, fails := range map[string]error{"sent again": nil, "not sent": errors.New("closed")} {
		synctest.Test(t, func(t *testing.T) {
			delays := []time.Duration{}
			over := &storetest.Faulty{Backend: memory.New()}
			r, _ := program(t, func(c *Options) {
				c.Store, c.Waker = over, wakerFunc(func(_ core.WakeUp, delay time.Duration) error {
					delays = append(delays, delay)
					return fails
				})
			})
			beside := r.worker.permits.newPermit()
			if !r.worker.permits.tryAcquire(beside, false, false) {
				t.Fatal("no permit")
			}
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(errAway)
			commits := 0
			over.OnHead = func(ctx context.Context, _ core.ThreadKey) (thread.Head, error) { return thread.Head{}, ctx.Err() }
			over.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				commits++
				return store.Outcome{}, errAway
			}
			err := r.WorkLocal(ended, core.WakeUp{Tenant: "acme", Thread: "t"})
			if !errors.Is(err, fails) || (err == nil) != (fails == nil) || commits != 0 || r.Stats().Working != 1 {
				t.Errorf("%s: %v, %d commits, %d at work", name, err, commits, r.Stats().Working)
			}
			if diff := cmp.Diff([]time.Duration{time.Second}, delays); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// Each part of a configuration that cannot be built is named by its error.
func TestWhatCannotBeBuilt(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"build host: no agent is registered":            func(c *Options) { c.Agents = agent.Parts{} },
		"build host: limits: default: runs_a_day is -1": func(c *Options) { c.Limits = account.Tenants{Default: account.Limits{RunsADay: -1}} },
		"build host: mailbox: worker name of 99 bytes":  func(c *Options) { c.Worker = strings.Repeat("w", 99) },
		`agent "demo": model "m" ("x") has no known`: func(c *Options) {
			c.Limits = account.Tenants{Default: account.Limits{SpendADay: 5}}
			c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: scripted.New(c.Env), Name: "x"}}
		},
	} {
		c := Options{
			Env: env.System(), Store: memory.New(), Waker: NewQueue(env.System()), alone: true, Logger: slog.New(slog.DiscardHandler),
			Agents: agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(env.System())}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}}},
		}
		change(&c)
		if r, err := New(c); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A process that takes no steps needs no prices.
func TestWhoTakesNoStepsNeedsNoPrices(t *testing.T) {
	r, _ := program(t, func(c *Options) {
		c.Limits = account.Tenants{Default: account.Limits{SpendADay: 5}}
		c.Store = &storetest.Faulty{Backend: memory.New(), OnAdmission: func(context.Context, string, int64) (store.Admission, error) { return store.Admission{}, errAway }}
		c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: model.None{}}}
	})
	if got, err := r.Limits(t.Context(), "acme"); !errors.Is(err, errAway) || err.Error() != "limits of the tenant: the store is away" || got.SpendADay != 5 || got.Ends != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A client whose greeting cannot be read is shown its run without it.
func TestAGreetingThatCannotBeRead(t *testing.T) {
	var log strings.Builder
	r, _ := program(t, func(c *Options) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Store = &storetest.Faulty{Backend: memory.New(), OnLogBackwards: func(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) { yield(store.Record{}, errAway) }
		}}
	})
	for _, events := range []int{0, 1} { // of the second run's thread
		h := &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
		if _, err := r.Stream(t.Context(), hello("t"), h); err != nil || !strings.Contains(h.brief(), "run_start") || strings.Contains(h.brief(), "messages_snapshot") {
			t.Errorf("%v, shown %q", err, h.brief())
		}
		if n := strings.Count(log.String(), `msg="messages_snapshot omitted" tenant=acme thread=t run=`); n != events {
			t.Errorf("it is logged %d times, want %d", n, events)
		}
	}
}

// The greeting of a run that a client follows has nothing of the run itself, even if the
// thread has nothing else.
func TestAGreetingHasNothingOfItsRun(t *testing.T) {
	r, _ := program(t, nil)
	s := hello("t")
	s.Key = mailbox.Key{Value: "k"}
	for i := range 2 { // the second finds the run of the first
		h := &hearer{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
		if _, err := r.Stream(t.Context(), s, h); err != nil || !strings.Contains(h.brief(), "run_finish") || strings.Contains(h.brief(), "messages_snapshot") {
			t.Errorf("stream %d: %v, shown %q", i, err, h.brief())
		}
	}
}

// What a run is asked for by: each part of a query must be true of it.
func TestWhichRunsAQueryIsFor(t *testing.T) {
	run := core.Run{AgentID: "demo", Status: core.RunDone, Termination: &core.Termination{Type: core.TerminationNatural}}
	for _, test := range []struct {
		q    RunQuery
		want bool
	}{
		{RunQuery{}, true},
		{RunQuery{Status: core.RunDone, Agent: "demo", Termination: core.TerminationNatural}, true},
		{RunQuery{Status: core.RunWaiting, Termination: core.TerminationNatural}, false},
		{RunQuery{Agent: "other", Termination: core.TerminationNatural}, false},
		{RunQuery{Agent: "other"}, false},
		{RunQuery{Termination: core.TerminationError}, false},
	} {
		if got := test.q.is(run, 0); got != test.want {
			t.Errorf("%+v: %t", test.q, got)
		}
	}
	run.CreatedAt, run.StartedAt, run.FinishedAt, run.StartedBy = 10, 11, 21, &core.RunParent{RunID: core.ID{1}}
	run.Cost = &core.Cost{USD: 5, Known: true}
	for _, test := range []struct {
		name string
		q    RunQuery
		want bool
	}{
		{"since its time", RunQuery{Since: 10}, true}, {"since a later time", RunQuery{Since: 11}, false},
		{"until a later time", RunQuery{Until: 11}, true}, {"until its time", RunQuery{Until: 10}, false},
		{"of its origin", RunQuery{Origin: new(core.OriginUser)}, true}, {"of another origin", RunQuery{Origin: new(core.OriginInternal)}, false},
		{"of its parent", RunQuery{Parent: core.ID{1}}, true}, {"of another parent", RunQuery{Parent: core.ID{2}}, false},
		{"as long", RunQuery{MinMillis: 10}, true}, {"longer", RunQuery{MinMillis: 11}, false},
		{"as dear", RunQuery{MinCost: 5}, true}, {"dearer", RunQuery{MinCost: 6}, false},
	} {
		if got := test.q.is(run, 1000); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
	for name, other := range map[string]core.Run{"without a cost": {}, "of unknown cost": {Cost: &core.Cost{}}} {
		if (RunQuery{MinCost: 1}).is(other, 0) {
			t.Errorf("a run %s is dear", name)
		}
	}
	if open := (core.Run{Status: core.RunRunning, StartedAt: 990}); !(RunQuery{MinMillis: 10}).is(open, 1000) || (RunQuery{MinMillis: 11}).is(open, 1000) {
		t.Error("an open run has not taken until now")
	}
	if (RunQuery{MinMillis: 1}).is(core.Run{Status: core.RunDone, StartedAt: 5}, 1000) || (RunQuery{MinMillis: 1}).is(core.Run{}, 1000) {
		t.Error("a run of no known end or start has taken time")
	}
	if (RunQuery{Termination: core.TerminationNatural}).is(core.Run{}, 0) {
		t.Error("a run without an end has ended naturally")
	}
}

// A call is known to wait for its thread as long as it does.
func TestACallIsKnownToWait(t *testing.T) {
	var r *Host
	waiting := []int{}
	r, _ = program(t, func(c *Options) {
		withoutWorkers(c)
		c.Agents.Models["m"] = agent.ModelBinding{Model: noting{scripted.New(c.Env), func(model.Request) {
			r.queue.mu.Lock()
			defer r.queue.mu.Unlock()
			waiting = append(waiting, r.queue.lines[hello("t").Thread].waiting)
		}}}
	})
	receipt, err := r.Submit(t.Context(), hello("t"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Follow(t.Context(), acme, receipt.RunID, ListenerFunc(discard)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1}, waiting); diff != "" {
		t.Errorf("calls that wait (-want +got):\n%s", diff)
	}
	for key, line := range r.queue.lines {
		if line.waiting != 0 {
			t.Errorf("%d calls still wait for %s", line.waiting, key)
		}
	}
}
