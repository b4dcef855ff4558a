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
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A claim that is lost leaves its thread a hint, unless it has one, or needs none.
func TestALostClaimIsHandedOver(t *testing.T) {
	now := env.System().Millis()
	for name, test := range map[string]struct {
		why    error
		head   thread.Head
		unread error
		delay  time.Duration // of the hint; negative: there is none
	}{
		"another has the claim":   {thread.ErrFenced, thread.Head{DueAt: 5, Claim: thread.Claim{Fence: 2, Lease: now + 60_000}}, nil, -1},
		"its lease is over":       {thread.ErrFenced, thread.Head{DueAt: 5, Claim: thread.Claim{Fence: 2, Lease: now - 1000}}, nil, 0},
		"it is free":              {thread.ErrFenced, thread.Head{DueAt: 5}, nil, 0},
		"there is nothing to do":  {thread.ErrFenced, thread.Head{}, nil, -1},
		"it was deleted":          {thread.ErrFenced, thread.Head{DueAt: 5, Deleted: true}, nil, -1},
		"its head cannot be read": {thread.ErrFenced, thread.Head{}, store.ErrThrottled, 0},
		"its write was lost":      {thread.ErrApplied, thread.Head{}, nil, 7 * time.Second},
	} {
		over := &storetest.Faulty{Backend: memory.New(), OnHead: func(context.Context, core.ThreadKey) (thread.Head, error) { return test.head, test.unread }}
		r, queue := program(t, func(c *Options) { c.Store, c.Lease = over, 7*time.Second })
		hint := core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: core.ID{3}}
		err := r.worker.handOver(t.Context(), hint, fmt.Errorf("step: %w", test.why))
		hints := queue.Messages()
		if err != nil || (len(hints) == 1) != (test.delay >= 0) || len(hints) > 1 {
			t.Errorf("%s: hints %v, %v", name, hints, err)
			continue
		}
		if len(hints) == 1 && (hints[0].Delay != test.delay || hints[0].Hint != hint) {
			t.Errorf("%s: hint %+v after %s, want %s", name, hints[0].Hint, hints[0].Delay, test.delay)
		}
	}
	for err, want := range map[error]bool{thread.ErrFenced: true, thread.ErrApplied: true, store.ErrThrottled: false, nil: false} {
		if got := lostClaim(err); got != want {
			t.Errorf("%v: the claim is lost: %t", err, got)
		}
	}
}

// The hint that a decision holds back is sent at once for a run that may go on; a failure is
// logged, since the held one follows.
func TestTheHeldHintIsSent(t *testing.T) {
	ready := thread.Head{Epoch: 4, Run: thread.Run{ID: theRun, Dispatch: core.ID{3}}}
	waits := ready
	waits.Run.Status = thread.Waiting
	for name, test := range map[string]struct {
		head  thread.Head
		fails error
		hints int
		log   string
	}{
		"it may go on":        {ready, nil, 1, ""},
		"it waits":            {waits, nil, 0, ""},
		"none is open":        {thread.Head{}, nil, 0, ""},
		"the queue is closed": {ready, errors.New("no"), 1, `level=WARN msg="wake-up lost, the sweep will find the thread" tenant=acme thread=t error=`},
	} {
		var log strings.Builder
		sent := 0
		r, _ := program(t, func(c *Options) {
			c.Waker = wakerFunc(func(hint core.WakeUp, delay time.Duration) error {
				if sent++; hint != (core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: core.ID{3}, Epoch: 4}) || delay != 0 {
					t.Errorf("%s: hint %+v after %s", name, hint, delay)
				}
				return test.fails
			})
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		r.worker.wakeNow(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "t"}, test.head)
		if got := log.String(); sent != test.hints || !strings.Contains(got, test.log) || (got == "") != (test.log == "") {
			t.Errorf("%s: %d hints, logged %q", name, sent, got)
		}
	}
}

type wakerFunc func(core.WakeUp, time.Duration) error

func (f wakerFunc) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	return f(hint, delay)
}

// The error that ended a run is kept for the calls that wait for it, and no longer.
func TestTheCauseOfAnEndIsKeptForItsCalls(t *testing.T) {
	no := errors.New("no")
	c := newCauses()
	c.note(theRun, no)
	if err := c.of(theRun); err != nil || len(c.waits) != 0 {
		t.Errorf("nobody waits: %v is kept, of %d", err, len(c.waits))
	}
	c.join(theRun)
	c.join(theRun)
	if err := c.of(theRun); err != nil {
		t.Errorf("before its end: %v", err)
	}
	c.note(theRun, no)
	c.note(core.ID{8}, no)
	c.quit(theRun)
	if err := c.of(theRun); !errors.Is(err, no) || c.of(core.ID{8}) != nil {
		t.Errorf("for the one that is left: %v; another run's: %v", err, c.of(core.ID{8}))
	}
	c.quit(theRun)
	if err := c.of(theRun); err != nil || len(c.waits) != 0 {
		t.Errorf("when all have left: %v, of %d", err, len(c.waits))
	}
	c.quit(theRun) // changes nothing
}

// Of the ends of a request only that of its host ends a run; the deadline stays.
func TestWhatEndsADetachedContext(t *testing.T) {
	type key struct{}
	for name, test := range map[string]struct {
		request, host error // the cause with which each is cancelled; nil: it is not
		ends          bool
	}{
		"nothing":                           {nil, nil, false},
		"the client goes":                   {errors.New("gone"), nil, false},
		"the host stops":                    {ErrStopping, nil, false}, // it says so through its own context
		"the host's context ends otherwise": {nil, errors.New("gone"), false},
		"the client goes, the host stops":   {errors.New("gone"), ErrStopping, true},
		"the host stops all":                {nil, ErrStopping, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			all, stopAll := context.WithCancelCause(t.Context())
			ctx, stop := context.WithCancelCause(context.WithValue(ForHost(all), key{}, 5))
			free, cancel := detach(ctx, env.System())
			if test.request != nil {
				stop(test.request)
			}
			if test.host != nil {
				stopAll(test.host)
			}
			synctest.Wait()
			if (free.Err() != nil) != test.ends || free.Value(key{}) != 5 {
				t.Errorf("%s: %v, value %v", name, free.Err(), free.Value(key{}))
			}
			if _, ok := free.Deadline(); ok {
				t.Errorf("%s: it has a deadline", name)
			}
			cancel()
			if free.Err() == nil {
				t.Errorf("%s: it goes on", name)
			}
			stop(nil)
			stopAll(nil)
		})
	}
	synctest.Test(t, func(t *testing.T) { // without ForHost the request's own end tells
		ctx, stop := context.WithCancelCause(t.Context())
		timed, cancelTimed := context.WithTimeout(ctx, time.Minute)
		defer cancelTimed()
		free, cancel := detach(timed, env.System())
		defer cancel()
		if at, ok := free.Deadline(); !ok || time.Until(at) != time.Minute {
			t.Errorf("its deadline is in %s, %t", time.Until(at), ok)
		}
		stop(ErrStopping)
		synctest.Wait()
		if free.Err() == nil {
			t.Error("the host stops, and it goes on")
		}
	})
}

// alone is a runtime without workers over a store that fails once, at an operation that is
// counted from 1.
type alone struct {
	*Host
	stays bool // it fails from then on

	mu        sync.Mutex // a run's watch uses the store, too
	at, count int
}

// fails counts an operation, and reports whether it is one that fails.
func (a *alone) fails() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	return a.count == a.at || a.stays && a.at > 0 && a.count > a.at
}

// failAt makes the operation at, counted from here on, the one that fails.
func (a *alone) failAt(at int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count, a.at = 0, at
}

// counted is how many operations there were since.
func (a *alone) counted() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

var errAway = errors.New("the store is away")

func newAlone(t *testing.T) *alone {
	t.Helper()
	a := &alone{}
	over := &storetest.Faulty{Backend: memory.New()}
	over.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
		if a.fails() {
			return errAway
		}
		return do(ctx)
	}
	e := env.System()
	r, err := New(Options{
		Env: e, Store: over, Waker: NewQueue(e), alone: true, Logger: slog.New(slog.DiscardHandler), LeaveFor: -1,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e)}},
			Tools:  []tool.Tool{asksFirst()},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Host = r
	return a
}

// Whatever operation of the store fails, once or from then on: a call that waits returns what its run came
// to, or an error; never half a result without one.
func TestACallThatWaitsAndAStoreThatFails(t *testing.T) {
	for name, play := range map[string]func(t *testing.T, a *alone, fail func()) (Result, string, error){
		"run": func(t *testing.T, a *alone, fail func()) (Result, string, error) {
			fail()
			result, err := a.Run(t.Context(), "demo", "hello")
			return result, "You said: hello", err
		},
		"resume": func(t *testing.T, a *alone, fail func()) (Result, string, error) {
			waiting, err := a.Run(t.Context(), "demo", "approve: it")
			if err != nil || len(waiting.Tickets) != 1 {
				t.Fatalf("%+v, %v", waiting, err)
			}
			fail()
			result, err := a.Resume(t.Context(), waiting, Approve(waiting.Tickets[0]))
			return result, "Done: it", err
		},
		"a call that is given up": func(t *testing.T, a *alone, fail func()) (Result, string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer cancel()
			fail()
			result, err := a.Play(ctx, mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("slow: 50")}}, nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errAway) {
				t.Errorf("%v", err)
			}
			if err == nil || result.Termination.Type == core.TerminationCancelled && result.Run.Status == core.RunDone {
				return result, result.Text, nil // it was closed, as without a fault
			}
			return result, "", err
		},
	} {
		for _, stays := range []bool{false, true} {
			for at := 1; ; at++ {
				over := false
				synctest.Test(t, func(t *testing.T) {
					a := newAlone(t)
					a.stays = stays
					result, want, err := play(t, a, func() { a.failAt(at) })
					switch {
					case err == nil && (result.Text != want || len(result.Tickets) > 0 || result.Run.Status != core.RunDone):
						t.Errorf("%s, it stays away %t: operation %d fails: %q, %+v", name, stays, at, result.Text, result.Run)
					case err == nil && name != "a call that is given up" && len(result.Messages) < 2:
						t.Errorf("%s, it stays away %t: operation %d fails: messages %+v", name, stays, at, result.Messages)
					case err != nil && !errors.Is(err, errAway) && !errors.Is(err, context.DeadlineExceeded):
						if _, failed := errors.AsType[*RunError](err); !failed {
							t.Errorf("%s, it stays away %t: operation %d fails: %v", name, stays, at, err)
						}
					}
					over = a.counted() < at
				})
				if over {
					break
				}
			}
		}
	}
}

// What is not a thread's run is refused before anything is read.
func TestDecisionsThatAreOnNothing(t *testing.T) {
	r, _ := program(t, nil)
	d := mailbox.Deciding{Target: "s", Decision: core.Decision{Action: core.DecisionResume}}
	if _, err := r.StreamDecisions(t.Context(), core.Identity{Tenant: "acme"}, "a#b", []mailbox.Deciding{d}, ListenerFunc(discard)); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a thread that is no name: %v", err)
	}
	want := core.ThreadKey{Tenant: "acme", Thread: "a#b"}.Check()
	if _, err := r.DecideThread(t.Context(), core.Identity{Tenant: "acme"}, "a#b", d); err == nil || err.Error() != want.Error() {
		t.Errorf("a decision on such a thread: %v, want %v", err, want)
	}
	if _, err := r.StreamDecisions(t.Context(), core.Identity{Tenant: "acme"}, "t", nil, ListenerFunc(discard)); core.CodeOf(err) != core.CodeInvalid || err.Error() != "there is no decision" {
		t.Errorf("no decision: %v", err)
	}
	waiting := Result{Thread: "a#b", Run: core.Run{ID: theRun}, identity: core.Identity{Tenant: "acme"}}
	if got, err := r.Resume(t.Context(), waiting, d); core.CodeOf(err) != core.CodeInvalid || got.Run.ID != theRun {
		t.Errorf("a result of such a thread: %v, %+v", err, got)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errAway)
	waiting.Thread = "t"
	if _, err := r.Resume(ended, waiting, d); !errors.Is(err, errAway) || err.Error() != "resume run "+theRun.String()+": the store is away" {
		t.Errorf("a context that is over: %v", err)
	}
}

// Input for a run is steered to it, or queued if it is for later; a run's agent is its own.
func TestInputForARun(t *testing.T) {
	r, _ := program(t, func(c *Options) { c.Agents.Specs = append(c.Agents.Specs, agent.Spec{ID: "other", Model: "m"}) })
	s := hello("t")
	s.Opening.AgentID = "other"
	first, err := r.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, false); err != nil || !ok {
		t.Fatal(ok, err)
	}
	type want struct {
		own, delayed int
		agent        string
	}
	for name, test := range map[string]struct {
		in   mailbox.Submission
		want want
	}{
		"now":             {mailbox.Submission{}, want{own: 1}},
		"queued":          {mailbox.Submission{Mode: mailbox.ModeQueue}, want{agent: "other"}},
		"another agent":   {mailbox.Submission{Mode: mailbox.ModeQueue, Opening: mailbox.Opening{AgentID: "demo"}}, want{agent: "demo"}},
		"in a while":      {mailbox.Submission{Opening: mailbox.Opening{Delay: time.Hour}}, want{delayed: 1, agent: "other"}},
		"at a later time": {mailbox.Submission{Opening: mailbox.Opening{AvailableAt: r.env.Millis() + 3_600_000}}, want{delayed: 1, agent: "other"}},
	} {
		before, err := r.mailbox.Head(t.Context(), s.Thread)
		if err != nil {
			t.Fatal(err)
		}
		test.in.Messages = []core.Message{core.UserMessage("more")}
		receipt, err := r.SubmitTo(t.Context(), core.Identity{Tenant: "acme"}, first.RunID, test.in)
		if err != nil {
			t.Fatal(name, err)
		}
		after, err := r.mailbox.Head(t.Context(), s.Thread)
		if err != nil {
			t.Fatal(err)
		}
		got := want{own: len(after.Inbox) - len(before.Inbox), delayed: len(after.Delayed) - len(before.Delayed)}
		if (receipt.RunID == first.RunID) != (test.want.own == 1) {
			t.Errorf("%s: run %s", name, receipt.RunID)
		}
		if receipt.RunID != first.RunID {
			run, err := r.ReadRun(t.Context(), core.Identity{Tenant: "acme"}, receipt.RunID)
			if err != nil {
				t.Fatal(err)
			}
			got.agent = run.AgentID
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// An agent that is not there is refused before its frontend is looked at.
	s.Opening.AgentID, s.Opening.Frontend = "gone", &core.Frontend{}
	if _, err := r.Submit(t.Context(), s); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an unknown agent: %v", err)
	}
	s.Opening.AgentID = ""
	if _, err := r.Submit(t.Context(), s); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("no agent: %v", err)
	}
}

// A run that its call gives up goes on in the queue; the call has its ids.
func TestACallThatIsGivenUpHasTheIdsOfItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := program(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		s := hello("t")
		s.User, s.Messages = "ann", []core.Message{core.UserMessage("slow: 600")}
		began := time.Now()
		got, err := r.Play(ctx, s, nil, nil)
		if want := "run " + got.Run.ID.String() + " continues in the queue: context deadline exceeded"; !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if got.Run.ID.IsZero() || got.Run.ThreadID != "t" || got.Thread != "t" || got.Run.Status != "" || len(got.Messages) > 0 || r.Stats().Working != 0 {
			t.Errorf("after %s: %+v, %d at work", time.Since(began), got, r.Stats().Working)
		}
		if next := got.Next("more"); next.Thread != s.Thread || next.User != "ann" {
			t.Errorf("its thread goes on with %+v", next)
		}
	})
}

// Tools are listed by name, whichever agent has them first.
func TestToolsOfSeveralAgentsAreSorted(t *testing.T) {
	r, _ := program(t, func(c *Options) {
		for _, name := range []string{"b", "a", "c"} {
			c.Agents.Tools = append(c.Agents.Tools, tool.New(tool.Spec{Name: name}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }))
		}
		c.Agents.Specs = []agent.Spec{{ID: "first", Model: "m", AllowedTools: []string{"c"}}, {ID: "second", Model: "m", AllowedTools: []string{"b"}}, {ID: "third", Model: "m"}}
	})
	var got []string
	for _, spec := range r.Capabilities().Tools {
		got = append(got, spec.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Input that cannot be read is the error of its page, however much of it there is.
func TestMuchInputThatCannotBeRead(t *testing.T) {
	failing := false
	over := &storetest.Faulty{Backend: memory.New()}
	over.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if failing && op.Method == "Get" && strings.HasPrefix(op.Name, "Q#") {
			return errAway
		}
		return do(ctx)
	}
	r, _ := program(t, func(c *Options) { c.Store = over })
	for range 7 {
		if _, err := r.Submit(t.Context(), hello("t")); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []MessageQuery{{}, {Newest: true}, {Descending: true}} {
		failing = false
		if page, err := r.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t", q); err != nil || len(page.Messages) != 7 {
			t.Errorf("%+v: %d messages, %v", q, len(page.Messages), err)
		}
		failing = true
		if page, err := r.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t", q); !errors.Is(err, errAway) || page.Messages != nil {
			t.Errorf("%+v: %d messages, %v", q, len(page.Messages), err)
		}
	}
}
