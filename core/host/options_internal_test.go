package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// A window leaves the oldest messages of a thread out of what the model is sent.
func TestAWindowBoundsWhatTheModelIsSent(t *testing.T) {
	sent := func(window int) (n int) {
		r, _ := program(t, func(c *Options) {
			c.Window = window
			c.Agents.Models["m"] = agent.ModelBinding{Model: noting{scripted.New(c.Env), func(r model.Request) { n = len(r.Messages) }}}
		})
		for i := range 8 {
			s := hello("t")
			s.Messages[0] = core.UserMessage(fmt.Sprint(i, " ", strings.Repeat("word ", 200)))
			if _, err := r.Stream(t.Context(), s, ListenerFunc(discard)); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if all, some := sent(0), sent(1500); all != 15 || some >= all || some == 0 {
		t.Errorf("%d messages, with a window %d", all, some)
	}
}

// A cancel from elsewhere is looked for as often as the configuration says.
func TestACancelIsLookedForAtItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := memory.New()
		r, _ := program(t, func(c *Options) { c.Store, c.Poll = backend, 300*time.Millisecond })
		other, _ := program(t, func(c *Options) { c.Store = backend })
		s := hello("t")
		s.Messages[0] = core.UserMessage("slow: 600")
		receipt := make(chan mailbox.Receipt, 1)
		go func() {
			got, err := r.Stream(t.Context(), s, ListenerFunc(discard))
			if err != nil {
				t.Error(err)
			}
			receipt <- got
		}()
		time.Sleep(5010 * time.Millisecond)
		if _, err := other.CancelThread(t.Context(), acme, "t"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-receipt
		if took := time.Since(began); took > 400*time.Millisecond {
			t.Errorf("it stops %s after the cancel", took)
		}
	})
}

// A program without a logger of its own logs to the default one; what a program of New logs
// there are warnings alone.
func TestWhereIsLogged(t *testing.T) {
	var log strings.Builder
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	bad := agent.Spec{ID: "demo", Model: "m", ExcludedToolPatterns: []string{"mcp:*"}}
	const warning = `level=WARN msg="agent spec: \"mcp:*\" matches no tool" agent=demo field=excluded_tool_patterns[0]`
	program(t, func(c *Options) { c.Logger, c.Agents.Specs = nil, []agent.Spec{bad} })
	if !strings.Contains(log.String(), warning) {
		t.Errorf("logged %q", log.String())
	}
	log.Reset()
	r, _ := program(t, nil)
	r, err := InMemory(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(r.env)}}, Specs: []agent.Spec{bad}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), "demo", "hello"); err != nil || !strings.Contains(log.String(), warning) || strings.Contains(log.String(), "INFO") {
		t.Errorf("%v, logged %q", err, log.String())
	}
}

// The mailbox of a runtime logs where the runtime does.
func TestTheMailboxLogsWhereItsRuntimeDoes(t *testing.T) {
	var log strings.Builder
	r, _ := program(t, func(c *Options) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Store = &storetest.Faulty{Backend: memory.New(), OnHead: func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, errAway }}
	})
	if err := r.WorkLocal(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}); err != nil || !strings.Contains(log.String(), `level=WARN msg="claim failed, its hint is sent again" tenant=acme thread=t error=`) {
		t.Errorf("%v, logged %q", err, log.String())
	}
}

// A compaction of a delivery claims nothing: no head is read for it before.
func TestACompactionOfADelivery(t *testing.T) {
	var mu sync.Mutex // the hints of a delivery are handled side by side
	heads := map[string]int{}
	over := &storetest.Faulty{Backend: memory.New()}
	over.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		mu.Lock()
		defer mu.Unlock()
		heads[key.Thread]++
		return over.Backend.Head(ctx, key)
	}
	r, _ := program(t, func(c *Options) { c.Store = over })
	compact := func(name string) core.WakeUp {
		return core.WakeUp{Tenant: "acme", Thread: name, Kind: core.WakeCompact}
	}
	_ = r.WorkBatch(t.Context(), []core.WakeUp{compact("t")})
	alone := heads["t"]
	clear(heads)
	_ = r.WorkBatch(t.Context(), []core.WakeUp{compact("t"), compact("u")})
	if diff := cmp.Diff(map[string]int{"t": alone, "u": alone}, heads); diff != "" {
		t.Errorf("heads that are read (-want +got):\n%s", diff)
	}
}

// A thread is created for its user, once for each key; its title and metadata are kept.
func TestAThreadIsCreatedOnce(t *testing.T) {
	r, _ := program(t, nil)
	ann := core.Identity{Tenant: "acme", User: "ann"}
	m := NewThread{ID: "t", Title: "one", Metadata: []byte(`{"n":1}`), Key: "k"}
	for i := range 2 {
		got, err := r.CreateThread(t.Context(), ann, m)
		if err != nil || got.Owner != "ann" || got.Title != "one" || string(got.Metadata) != `{"n":1}` {
			t.Errorf("time %d: %+v, %v", i, got, err)
		}
	}
	other := m
	other.Key = "l"
	if _, err := r.CreateThread(t.Context(), ann, other); err == nil {
		t.Error("a thread is created again under another key")
	}
	if _, err := r.CreateThread(t.Context(), core.Identity{Tenant: "acme", User: "bob"}, m); err == nil {
		t.Error("a thread is created again by another user")
	}
}

// What a worker cannot deliver has a hint of its own.
func TestWhatCannotBeDeliveredIsWokenFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		over := &storetest.Faulty{Backend: memory.New()}
		r, queue := program(t, func(c *Options) {
			c.Store, c.Publisher, c.Logger = over, publishing{&notes{}}, slog.New(slog.NewTextHandler(&log, nil))
		})
		if _, err := r.Submit(t.Context(), hello("t")); err != nil {
			t.Fatal(err)
		}
		over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if !c.Head.Open() && len(c.Head.Outbox) == 0 { // what was announced is delivered
				return store.Outcome{}, errAway
			}
			return over.Backend.Commit(ctx, key, c)
		}
		hint, _ := queue.Receive()
		if err := r.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		if got := queue.Lines(); len(got) == 0 || !strings.Contains(log.String(), `level=WARN msg="outbox not cleared, delivered again" tenant=acme thread=t error=`) {
			t.Errorf("hints %q, logged %q", got, log.String())
		}
	})
}

// A run that has become a suspect since its head was read is not a stream's.
func TestAStreamDoesNotClaimWhatHasBecomeASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGiven(t, func(*Options) {})
		head, err := g.mailbox.Head(t.Context(), roundKey)
		if err != nil {
			t.Fatal(err)
		}
		for range thread.SuspectAt {
			if _, ok, err := g.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true); !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(time.Hour)
		}
		if _, permit := g.worker.claimInline(t.Context(), roundKey, head, theRun); permit != nil || g.Stats().Working != 0 {
			t.Errorf("it is claimed, %d at work", g.Stats().Working)
		}
	})
}

// A claim that another holds, of a run that came next, is not a stream's to give back, and
// a run that is held or waits costs a stream nothing.
func TestAStreamLeavesOthersClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGiven(t, func(*Options) {})
		stale, err := g.mailbox.Head(t.Context(), roundKey)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.mailbox.Cancel(t.Context(), roundKey, theRun); err != nil {
			t.Fatal(err)
		}
		hint := core.WakeUp{Tenant: "acme", Thread: "t"}
		if err := g.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Submit(t.Context(), hello("t")); err != nil {
			t.Fatal(err)
		}
		held, ok, err := g.mailbox.Claim(t.Context(), hint, true)
		if err != nil || !ok || held.Run.ID == theRun {
			t.Fatal(held.Run, ok, err)
		}
		if _, permit := g.worker.claimInline(t.Context(), roundKey, stale, theRun); permit != nil {
			t.Error("it is claimed")
		}
		now, err := g.mailbox.Head(t.Context(), roundKey)
		if err != nil || now.Version != held.Version || now.Claim != held.Claim {
			t.Errorf("the claim is %+v, want %+v, %v", now.Claim, held.Claim, err)
		}
	})
}

// A claim that damage refuses ends the wait of its call.
func TestADamagedThreadEndsTheWaitOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGiven(t, withoutWorkers)
		head, err := g.mailbox.Head(t.Context(), roundKey)
		if err != nil {
			t.Fatal(err)
		}
		g.over.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			return store.Outcome{}, store.ErrCorrupt
		}
		w := stepping{worker: g.worker, queue: g.queue, waiter: g.queue.join(roundKey), follower: g.played.follower}
		watch := g.watches.join(roundKey)
		defer watch.quit()
		g.watches.moved(roundKey, head)
		got, err := w.after(t.Context(), watch, head)
		if !errors.Is(err, store.ErrCorrupt) || differs(got, head) || g.Stats().Working != 0 {
			t.Errorf("head %d, %v, %d at work", got.Version, err, g.Stats().Working)
		}
	})
}

// A stream whose claim was lost goes on where its step has begun.
func TestAStreamThatLostItsClaimGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGiven(t, func(*Options) {})
		stale, ok, err := g.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		time.Sleep(time.Hour)
		if _, ok, err = g.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true); err != nil || !ok {
			t.Fatal(ok, err)
		}
		permit := g.worker.permits.newPermit()
		if !g.worker.permits.tryAcquire(permit, false, false) {
			t.Fatal("no permit")
		}
		st := g.played.follower.stream
		g.worker.runInline(t.Context(), roundKey, st, stale, permit)
		if st.place.next != 2 || g.Stats().Working != 0 {
			t.Errorf("it goes on at %+v, %d at work", st.place, g.Stats().Working)
		}
	})
}

// What a stream does not claim costs it no operation of the store.
func TestWhatAStreamDoesNotClaimCostsNothing(t *testing.T) {
	g := newGiven(t, func(*Options) {})
	held, ok, err := g.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	operations := 0
	g.over.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
		operations++
		return do(ctx)
	}
	if _, permit := g.worker.claimInline(t.Context(), roundKey, held, theRun); permit != nil || operations != 0 {
		t.Errorf("permit %t, %d operations", permit != nil, operations)
	}
	// A call that gives such a run up cancels it, and looks once more.
	if err := g.player.cancel(t.Context(), g.played); err != nil || operations != 3 {
		t.Errorf("%v, %d operations", err, operations)
	}
}
