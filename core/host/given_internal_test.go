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
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// given is a run that waits for its next step, in a process without workers, and what its
// call knows of it.
type given struct {
	*Host
	over   *storetest.Faulty
	played played
}

func newGiven(t *testing.T, change func(*Options)) *given {
	t.Helper()
	asked := thread.Entry{Run: theRun, Message: &core.Message{ID: "q", RunID: theRun, Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "hello"}}}}
	made := logged(t, thread.Head{DueAt: 1, Run: thread.Run{ID: theRun, Cursor: thread.CursorInfer, Dispatch: core.ID{2}}},
		[]core.Run{{ID: theRun, ThreadID: roundKey.Thread, AgentID: "demo", Status: core.RunRunning, FirstSeq: 1}}, asked)
	g := &given{over: &storetest.Faulty{Backend: made.reads.store}}
	g.Host, _ = program(t, func(c *Options) {
		c.Store = g.over
		change(c)
	})
	g.played = g.player.follow(roundKey, theRun, core.ID{}, acme, ListenerFunc(discard))
	return g
}

// withoutWorkers makes a configuration that of a process which has its store alone.
func withoutWorkers(c *Options) { c.Waker, c.alone = NewQueue(c.Env), true }

// open is whether the thread has an open run.
func (g *given) open(t *testing.T) bool {
	t.Helper()
	head, err := g.mailbox.Head(t.Context(), roundKey)
	if err != nil {
		t.Fatal(err)
	}
	return head.Open()
}

// A run that its call gives up is cancelled and closed, whatever it is at; what cannot be
// done is the error.
func TestARunThatIsGivenUpIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*testing.T, *given)
		err    error
		open   bool // the run is
	}{
		"it is at nothing": {func(*testing.T, *given) {}, nil, false},
		"it has ended": {func(t *testing.T, g *given) {
			if err := g.streams.follow(t.Context(), g.played.follower); err != nil {
				t.Fatal(err)
			}
		}, nil, false},
		"another run is open": {func(_ *testing.T, g *given) { g.played.run = core.ID{8} }, nil, true},
		"another call has it": {func(t *testing.T, g *given) {
			if _, ok, err := g.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}, nil, true},
		"it cannot be cancelled": {func(_ *testing.T, g *given) {
			g.over.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, errAway
			}
		}, errAway, true},
		"it cannot be closed": {func(_ *testing.T, g *given) {
			commits := 0
			g.over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if commits++; commits > 1 {
					return store.Outcome{}, store.ErrCorrupt
				}
				return g.over.Backend.Commit(ctx, key, c)
			}
		}, store.ErrCorrupt, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGiven(t, withoutWorkers)
			test.before(t, g)
			claims := 0
			g.over.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Method == "Commit" && op.Head.Claim.Fence != 0 && op.Head.Run.Status == thread.Closing {
					claims++
				}
				return do(ctx)
			}
			err := g.player.cancel(t.Context(), g.played)
			g.over.OnCommit = nil
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) || g.open(t) != test.open || g.Stats().Working != 0 {
				t.Errorf("%s: %v, open %t, %d at work", name, err, g.open(t), g.Stats().Working)
			}
			if name == "another call has it" && claims > 1 {
				t.Errorf("%s: it is written %d times", name, claims)
			}
		})
	}
}

// refuses is a model that refuses every call.
type refuses struct{ asked int }

func (m *refuses) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	m.asked++
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: "no"})
	}
}

// The error of a run that failed names the run; why its end was not seen comes first.
func TestTheErrorOfARunThatFailed(t *testing.T) {
	over := &storetest.Faulty{Backend: memory.New()}
	r, _ := program(t, func(c *Options) {
		c.Waker, c.alone, c.Store = NewQueue(c.Env), true, over
		c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: &refuses{}}}
	})
	result, err := r.Play(t.Context(), hello("t"), nil, nil)
	failed, ok := errors.AsType[*RunError](err)
	if !ok || failed.Run != result.Run.ID || failed.Agent != "demo" || failed.Run.IsZero() || result.Termination.Type != core.TerminationError {
		t.Fatalf("%+v, %+v", err, result.Run)
	}
	coded, ok := errors.AsType[*core.Error](err)
	if !ok || coded.Message != failed.Error() || string(coded.Code) != result.Termination.Code || len(r.player.causes.waits) != 0 {
		t.Errorf("%+v of %v, %d calls wait", coded, err, len(r.player.causes.waits))
	}
	one := r.player.follow(hello("t").Thread, result.Run.ID, core.ID{}, acme, ListenerFunc(discard))
	away := 1
	over.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		if away--; away >= 0 {
			return thread.Head{}, errAway
		}
		return over.Backend.Head(ctx, key)
	}
	again, err := r.player.end(t.Context(), one)
	if _, ok := errors.AsType[*RunError](err); ok || !errors.Is(err, errAway) || again.Termination.Type != core.TerminationError {
		t.Errorf("its end was not seen: %v, %+v", err, again.Termination)
	}
}

// An inline step that fails leaves its stream where the step has begun. What was shown of
// it is void, unless it is of a committed turn's round.
func TestAnInlineStepThatFails(t *testing.T) {
	said := func(text string) thread.Entry {
		return thread.Entry{Run: theRun, Message: &core.Message{ID: text, RunID: theRun, Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: text}}}}
	}
	for cursor, want := range map[thread.Cursor]struct {
		shown  string
		inside bool
	}{thread.CursorInfer: {"step_restarted", false}, thread.CursorTools: {"", true}} {
		r := logged(t, thread.Head{Run: thread.Run{ID: theRun, Cursor: cursor, Dispatch: core.ID{2}, Base: 4, Calls: []thread.CallStatus{thread.CallRunning}}},
			[]core.Run{{ID: theRun, ThreadID: "t", AgentID: "demo", Status: core.RunRunning, FirstSeq: 1}}, said("one"), said("two"), said("three"))
		head, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errAway)
		permit := r.worker.permits.newPermit()
		if !r.worker.permits.tryAcquire(permit, false, false) {
			t.Fatal("no permit")
		}
		h := &hearer{}
		s := newStream(r.env, theRun, h)
		s.audience.started, s.unsaid = true, position.Position{Run: theRun, Step: 1, Attempt: 1}
		s.audience.partial = true // the words of an earlier claim
		r.worker.runInline(ended, roundKey, s, head, permit)
		if h.brief() != want.shown || s.place.next != 4 || s.place.inside != want.inside || r.Stats().Working != 0 {
			t.Errorf("cursor %v: shown %q, at %+v, %d at work", cursor, h.brief(), s.place, r.Stats().Working)
		}
	}
}

// A stream that has lost its claim wakes its thread if nothing else does, for the dispatch
// and the epoch that it knows.
func TestAStreamThatLostItsClaimWakesItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r, queue := program(t, func(c *Options) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		s := hello("t")
		receipt, stale, _, err := r.mailbox.SubmitAndClaim(t.Context(), s)
		if err != nil || !receipt.Running {
			t.Fatal(receipt, err)
		}
		stale.Epoch = 7
		time.Sleep(time.Hour)
		head, ok, err := r.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if _, _, err = r.mailbox.Commit(t.Context(), s.Thread, head, thread.Nack{Fence: head.Claim.Fence, Kind: thread.NackGiven}, nil); err != nil {
			t.Fatal(err)
		}
		queue.Clear()
		permit := r.worker.permits.newPermit()
		if !r.worker.permits.tryAcquire(permit, false, false) {
			t.Fatal("no permit")
		}
		h := &hearer{}
		st := newStream(r.env, receipt.RunID, h)
		st.audience.started, st.unsaid = true, position.Position{Run: receipt.RunID, Step: 1, Attempt: 1}
		st.audience.partial = true // the words of an earlier claim
		r.worker.runInline(t.Context(), s.Thread, st, stale, permit)
		if got := h.brief(); got != "step_restarted" {
			t.Errorf("shown %q", got)
		}
		want := core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: stale.Run.Dispatch, Epoch: 7}
		hints := queue.Messages()
		if len(hints) != 1 || hints[0].Delay != 0 || log.Len() > 0 && strings.Contains(log.String(), "ERROR") {
			t.Fatalf("hints %+v, logged %q", hints, log.String())
		}
		if diff := cmp.Diff(want, hints[0].Hint); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What is written between a claim and its step reaches the step, whoever has claimed: a run
// that is cancelled then asks no model.
func TestWhatIsWrittenBetweenAClaimAndItsStep(t *testing.T) {
	hint := core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: core.ID{2}}
	for name, test := range map[string]struct {
		change func(*Options)
		step   func(t *testing.T, g *given) error
	}{
		"a worker":  {func(*Options) {}, func(t *testing.T, g *given) error { return g.WorkLocal(t.Context(), hint) }},
		"a program": {withoutWorkers, func(t *testing.T, g *given) error { return g.streams.follow(t.Context(), g.played.follower) }},
		"a stream": {func(*Options) {}, func(t *testing.T, g *given) error {
			head, err := g.mailbox.Head(t.Context(), roundKey)
			if err != nil {
				return err
			}
			head, permit := g.worker.claimInline(t.Context(), roundKey, head, theRun)
			if permit == nil {
				return errors.New("it is not claimed")
			}
			g.worker.runInline(t.Context(), roundKey, g.played.follower.stream, head, permit)
			return nil
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &refuses{}
			g := newGiven(t, func(c *Options) {
				test.change(c)
				c.Agents.Models = map[string]agent.ModelBinding{"m": {Model: m}}
			})
			commits := 0
			g.over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				outcome, err := g.over.Backend.Commit(ctx, key, c)
				if commits++; commits == 1 { // the claim
					if _, err := g.mailbox.Cancel(t.Context(), roundKey, theRun); err != nil {
						t.Error(err)
					}
				}
				return outcome, err
			}
			if err := test.step(t, g); err != nil || m.asked != 0 || g.open(t) {
				t.Errorf("%s: %v, the model is asked %d times, open %t", name, err, m.asked, g.open(t))
			}
		})
	}
}
