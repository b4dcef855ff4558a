package host

import (
	"context"
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
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// program is a runtime with one agent, over a store and a queue of its own.
func program(t *testing.T, change func(*Options)) (*Host, *mailboxtest.Queue) {
	t.Helper()
	e, queue := env.System(), &mailboxtest.Queue{}
	c := Options{
		Env: e, Store: memory.New(), Waker: queue, Logger: slog.New(slog.DiscardHandler), Worker: "w7",
		Agents: agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e)}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}}},
	}
	if change != nil {
		change(&c)
	}
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r, queue
}

func hello(name string) mailbox.Submission {
	return mailbox.Submission{Thread: core.ThreadKey{Tenant: "acme", Thread: name}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("hello")}}
}

// What a configuration sets, and what it leaves to the defaults.
func TestWhatAConfigurationSets(t *testing.T) {
	type times struct{ reserve, patience, interval, chunks, working time.Duration }
	queue := NewQueue(env.System())
	for name, test := range map[string]struct {
		change     func(*Options)
		want       times
		steps      int
		own, alone bool // the queue is the process's own, the store too
		workers    int
	}{
		"defaults": {func(*Options) {}, times{20 * time.Second, 0, 500 * time.Millisecond, 500 * time.Millisecond, 20 * time.Second}, 0, false, false, 16},
		"all": {func(c *Options) {
			c.Reserve, c.FollowFor, c.FollowInterval, c.Steps, c.Workers = 7*time.Second, 9*time.Second, 100*time.Millisecond, 3, 5
		}, times{7 * time.Second, 9 * time.Second, 100 * time.Millisecond, 100 * time.Millisecond, 7 * time.Second}, 3, false, false, 5},
		"a slow look":   {func(c *Options) { c.FollowInterval = 2 * time.Second }, times{20 * time.Second, 0, 2 * time.Second, 500 * time.Millisecond, 20 * time.Second}, 0, false, false, 16},
		"its own queue": {func(c *Options) { c.Waker, c.Reserve = queue, time.Minute }, times{0, 0, 500 * time.Millisecond, 500 * time.Millisecond, 0}, 0, true, false, 16},
		"without queue": {func(c *Options) { c.Waker = nil }, times{0, 0, 500 * time.Millisecond, 500 * time.Millisecond, 0}, 0, true, false, 16},
		"without store": {func(c *Options) { c.Store = nil }, times{20 * time.Second, 0, 500 * time.Millisecond, 500 * time.Millisecond, 20 * time.Second}, 0, false, false, 16},
		"in memory":     {func(c *Options) { c.Env, c.Store, c.Waker = nil, nil, nil }, times{0, 0, time.Minute, 500 * time.Millisecond, 0}, 0, true, true, 16},
	} {
		r, _ := program(t, test.change)
		got := times{r.streams.limits.reserve, r.streams.limits.patience, r.watches.interval, r.streams.chunkEvery, r.worker.reserve}
		if got != test.want || r.worker.steps != test.steps || r.streams.process != "w7" || r.workers.number != test.workers {
			t.Errorf("%s: %+v, %d steps, process %q, %d workers", name, got, r.worker.steps, r.streams.process, r.workers.number)
		}
		if r.player.alone != test.alone || r.reads.local != test.alone || (r.streams.queue != nil) != test.own || (r.queue != nil) != test.own {
			t.Errorf("%s: alone %t, local %t, %v", name, r.player.alone, r.reads.local, r.streams.queue)
		}
	}
}

// A claim has the name of its process.
func TestAClaimNamesItsProcess(t *testing.T) {
	r, _ := program(t, func(c *Options) { c.Lease = 7 * time.Second })
	s := hello("t")
	if _, err := r.Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	head, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, false)
	if err != nil || !ok || head.Claim.Worker != "w7" {
		t.Errorf("claim %+v, %t, %v", head.Claim, ok, err)
	}
	if left := head.Claim.Lease - r.env.Millis(); left > 7000 || left < 1000 {
		t.Errorf("its lease ends in %d ms", left)
	}
}

// A step may start as long as more than the reserve is left.
func TestTimeIsLeftUpToTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{env: env.System(), reserve: 20 * time.Second}
		if !w.timeLeft(t.Context()) {
			t.Error("no time is left without a deadline")
		}
		for left, want := range map[time.Duration]bool{20*time.Second + 1: true, 20 * time.Second: false, 19 * time.Second: false, -time.Second: false} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			if got := w.timeLeft(ctx); got != want {
				t.Errorf("%s before the deadline: %t", left, got)
			}
			cancel()
		}
	})
}

// A runtime of its own program reports warnings alone: the call that waits tells how its
// run ended.
func TestOnlyWarningsOfAProgramAreLogged(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelWarn: true, slog.LevelError: true} {
		for least, enabled := range map[slog.Level]bool{slog.LevelDebug: want, slog.LevelError + 1: false} {
			w := warnings{slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: least})}
			for name, handler := range map[string]slog.Handler{"itself": w, "with attributes": w.WithAttrs([]slog.Attr{slog.Int("n", 1)}), "with a group": w.WithGroup("g")} {
				if got := handler.Enabled(t.Context(), level); got != enabled {
					t.Errorf("%s of a handler of %s, %s: %t", level, least, name, got)
				}
			}
		}
	}
}

// A runtime without workers does not leave a run to another build: there is none.
func TestAProgramWaitsForNoOtherBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := InMemory(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(env.System())}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}}})
		if err != nil {
			t.Fatal(err)
		}
		s := hello("t")
		s.Opening.AgentID = "gone" // past the check of Submit, as if it had been there
		receipt, err := r.mailbox.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := r.Follow(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID, ListenerFunc(discard)); err != nil {
			t.Fatal(err)
		}
		run, err := r.ReadRun(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID)
		if err != nil || run.Termination == nil || run.Termination.Type != core.TerminationError || time.Since(began) > time.Second {
			t.Errorf("after %s: %+v, %v", time.Since(began), run, err)
		}
	})
}

// A clock that goes backwards adds nothing to a handler's time.
func TestAClockThatGoesBackwardsAddsNothing(t *testing.T) {
	now := time.Unix(100, 0)
	h := &handlers{now: func() time.Time { return now }}
	share, stop := h.start()
	now = now.Add(-time.Minute)
	if got := share(); got != 0 || h.each != 0 {
		t.Errorf("%d ms, each %s", got, h.each)
	}
	now = now.Add(3 * time.Millisecond)
	if got := share(); got != 3 {
		t.Errorf("then %d ms, want 3", got)
	}
	stop()
	now = now.Add(time.Hour)
	if got := share(); got != 3 || h.active != 0 {
		t.Errorf("in the end %d ms, %d are active", got, h.active)
	}
}

// Only where usage is recorded is work counted, once for a thread; and only a process whose
// time is money pays for the queue's requests: two for a delivery, which its messages share.
func TestWhatOfADeliveryIsCounted(t *testing.T) {
	key, other := core.ThreadKey{Tenant: "acme", Thread: "t"}, core.ThreadKey{Tenant: "acme", Thread: "u"}
	for name, test := range map[string]struct {
		m        *meter
		messages int
		counts   bool
		queue    int64
	}{
		"nothing is recorded":  {&meter{}, 2, false, 0},
		"its time is for free": {&meter{on: true}, 2, true, 0},
		"alone":                {&meter{on: true, billed: true}, 1, true, 200},
		"one of three":         {&meter{on: true, billed: true}, 3, true, 66},
		"of no message":        {&meter{on: true, billed: true}, 0, true, 200},
	} {
		now := time.Unix(100, 0)
		test.m.handlers.now = func() time.Time { return now }
		ctx := test.m.received(t.Context(), test.messages)
		ctx, stop := test.m.start(ctx, key)
		again, stopAgain := test.m.start(ctx, key)
		if again != ctx {
			t.Errorf("%s: the same thread is counted twice", name)
		}
		stopAgain()
		now = now.Add(5 * time.Millisecond)
		got := store.MeterOf(ctx).Drain()
		want := core.Spent{Queue: test.queue}
		if test.counts {
			want.Handler = 5
		}
		if got != want || store.MeterOf(ctx).Of(key) != test.counts {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		beside, stopBeside := test.m.start(ctx, other)
		if store.MeterOf(beside).Of(other) != test.counts {
			t.Errorf("%s: another thread is not counted by itself", name)
		}
		stopBeside()
		stop()
		if test.m.handlers.active != 0 {
			t.Errorf("%s: %d handlers are left", name, test.m.handlers.active)
		}
	}
}

func TestWhatIsRecordedOfUsage(t *testing.T) {
	var none *Metering
	if none.keep() != 0 || none.run() != nil {
		t.Errorf("without metering %s, %+v", none.keep(), none.run())
	}
	if got := (&Metering{}).keep(); got != accounting.DefaultKeep {
		t.Errorf("by default it is kept for %s", got)
	}
	m := &Metering{Keep: time.Hour, Memory: 256, Ended: func(string, account.Record) {}}
	if got := m.run(); got.Keep != time.Hour || got.Memory != 256 || got.Ended == nil {
		t.Errorf("the stepper is given %+v", got)
	}
	for mb, billed := range map[int]bool{0: false, 1: true, 256: true} {
		_, counts, err := newLedger(&Options{Env: env.System(), Store: memory.New(), Metering: &Metering{Memory: mb}})
		if err != nil || !counts.on || counts.billed != billed {
			t.Errorf("%d MB: %+v, %v", mb, counts, err)
		}
	}
	ledger, counts, err := newLedger(&Options{})
	if ledger != nil || counts.on || counts.billed || err != nil {
		t.Errorf("without metering: %v, %+v, %v", ledger, counts, err)
	}
}

// Without metering there are no sums, and no report.
func TestUsageThatIsNotRecorded(t *testing.T) {
	r, _ := program(t, nil)
	if n, err := r.SumUsage(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if rows, err := r.Report(t.Context(), account.Query{Tenant: "acme"}); rows != nil || core.CodeOf(err) != core.CodeNotFound || err.Error() != "usage is not recorded here" {
		t.Errorf("%v, %v", rows, err)
	}
	if hours, err := r.ReportHours(t.Context(), account.HourQuery{Tenant: "acme", To: 1}); hours != nil || core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%v, %v", hours, err)
	}
}

// The requests that a host reports: followers of a thread, each as long as it follows.
func TestFollowersAreCounted(t *testing.T) {
	r, _ := program(t, nil)
	one, other := core.ThreadKey{Tenant: "acme", Thread: "t"}, core.ThreadKey{Tenant: "acme", Thread: "u"}
	a, b, c := r.watches.join(one), r.watches.join(one), r.watches.join(other)
	if n := r.Stats().Followers; n != 3 {
		t.Errorf("%d followers, want 3", n)
	}
	a.quit()
	c.quit()
	if n := r.Stats().Followers; n != 1 {
		t.Errorf("%d followers, want 1", n)
	}
	b.quit()
	if n := r.Stats().Followers; n != 0 || r.Stats().Working != 0 {
		t.Errorf("%d followers, %d at work", n, r.Stats().Working)
	}
}

// A head that has moved to the next run: the claim that a stream takes is given back,
// without a mark on that run.
func TestAStreamGivesBackTheClaimOfAnotherRun(t *testing.T) {
	var log strings.Builder
	r, queue := program(t, func(c *Options) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	s := hello("t")
	first, err := r.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Submit(t.Context(), hello("t")); err != nil {
		t.Fatal(err)
	}
	head, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	head, _, err = r.mailbox.Commit(t.Context(), s.Thread, head, thread.Nack{Fence: head.Claim.Fence, Kind: thread.NackGiven}, nil)
	if err != nil || head.Run.ID != first.RunID || !head.Ready() {
		t.Fatalf("%+v, %v", head.Run, err)
	}
	if err := r.CancelRun(t.Context(), core.Identity{Tenant: "acme"}, first.RunID); err != nil {
		t.Fatal(err)
	}
	for hint, ok := queue.Receive(); ok; hint, ok = queue.Receive() { // the first run is closed, by a step; the next stays queued
		if now, _ := r.mailbox.Head(t.Context(), s.Thread); now.Run.ID != first.RunID {
			break
		}
		if err := r.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
	}
	log.Reset()
	_, permit := r.worker.claimInline(t.Context(), s.Thread, head, first.RunID)
	now, err := r.mailbox.Head(t.Context(), s.Thread)
	if permit != nil || err != nil || r.Stats().Working != 0 || log.Len() > 0 {
		t.Fatalf("permit %v, %d at work, %v, logged %q", permit, r.Stats().Working, err, log.String())
	}
	if now.Run.ID == first.RunID || now.Claim.Fence != 0 || now.Run.Attempts != 0 && now.Open() {
		t.Errorf("the next run is %+v, claim %+v", now.Run, now.Claim)
	}
}

// What can only be claimed later, or by another, is not a stream's.
func TestWhatAStreamDoesNotClaim(t *testing.T) { synctest.Test(t, whatAStreamDoesNotClaim) }

func whatAStreamDoesNotClaim(t *testing.T) {
	run := core.ID{1}
	ready := thread.Head{Version: 3, Incarnation: 1, Run: thread.Run{ID: run, Cursor: thread.CursorInfer, Dispatch: core.ID{2}}}
	for name, test := range map[string]struct {
		change func(*thread.Head)
		left   time.Duration
		wakes  int
	}{
		"another run":    {change: func(h *thread.Head) { h.Run.ID = core.ID{3} }},
		"held":           {change: func(h *thread.Head) { h.Claim = thread.Claim{Fence: 1, Lease: 1 << 60} }},
		"waits":          {change: func(h *thread.Head) { h.Run.Status = thread.Waiting }},
		"later":          {change: func(h *thread.Head) { h.Run.AvailableAt = 1 << 60 }},
		"a suspect":      {change: func(h *thread.Head) { h.Run.Attempts = 2 }, wakes: 1},
		"little time":    {change: func(*thread.Head) {}, left: 10 * time.Second, wakes: 1},
		"a bad claim":    {change: func(*thread.Head) {}, wakes: -1}, // the mailbox wakes it, later
		"a damaged head": {change: func(*thread.Head) {}},
	} {
		var log strings.Builder
		unread := errAway
		if name == "a damaged head" {
			unread = store.ErrCorrupt
		}
		r, queue := program(t, func(c *Options) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Store = &storetest.Faulty{Backend: memory.New(), OnCommit: func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, unread
			}, OnHead: func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, unread }}
		})
		head := ready
		test.change(&head)
		ctx := t.Context()
		if test.left > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, test.left)
			defer cancel()
		}
		got, permit := r.worker.claimInline(ctx, core.ThreadKey{Tenant: "acme", Thread: "t"}, head, run)
		if permit != nil || r.Stats().Working != 0 || got.Version != 3 {
			t.Errorf("%s: permit %v, %d at work, head %+v", name, permit, r.Stats().Working, got)
		}
		if failed := strings.Contains(log.String(), `msg="claim failed, run stays queued" tenant=acme thread=t run=`); failed != (name == "a damaged head") {
			t.Errorf("%s: logged %q", name, log.String())
		}
		hints := queue.Messages()
		if test.wakes < 0 {
			continue
		}
		if len(hints) != test.wakes {
			t.Errorf("%s: hints %+v, want %d", name, hints, test.wakes)
		}
		for _, h := range hints {
			want := core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: core.ID{2}}
			if diff := cmp.Diff(want, h.Hint); diff != "" || h.Delay != 0 {
				t.Errorf("%s: delayed by %s (-want +got):\n%s", name, h.Delay, diff)
			}
		}
	}
}
