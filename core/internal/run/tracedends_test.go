package run_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// traced is a kind of end, and how a thread comes to it.
type traced struct {
	name    string
	options options
	gate    func(c plugin.GateCall) (plugin.Verdict, error) // nil: every call is allowed
	act     func(t *testing.T, w *world, r *trace)          // from the submission on; nil: it runs until nothing is due
	endless bool                                            // it comes to no end if its steps are others
}

// turn is what a model of the trace does in one inference, behind the tokens it counts.
type turn func(ctx context.Context, yield func(model.Delta, error) bool)

// turns is a model whose nth inference is the nth turn; the last one is repeated.
func turns(all ...turn) modelFunc {
	n := 0
	return func(ctx context.Context, _ model.Request) iterator {
		does := all[min(n, len(all)-1)]
		n++
		return func(yield func(model.Delta, error) bool) {
			if yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 3, Output: 2}}, nil) {
				does(ctx, yield)
			}
		}
	}
}

// says yields deltas.
func says(deltas ...model.Delta) turn {
	return func(_ context.Context, yield func(model.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// breaks fails behind half a sentence.
func breaks(failure error) turn {
	return func(_ context.Context, yield func(model.Delta, error) bool) {
		if yield(say("half"), nil) {
			yield(model.Delta{}, failure)
		}
	}
}

// hangs says half a sentence and goes on until its context ends.
func hangs(ctx context.Context, yield func(model.Delta, error) bool) {
	if yield(say("half"), nil) {
		<-ctx.Done()
	}
}

// one is the turn by which most runs of the trace end.
var one = says(text("one")...)

// askA lets the call of echo with the text a wait for a decision, for an hour.
func askA(c plugin.GateCall) (plugin.Verdict, error) {
	if string(c.Call.Arguments) == `{"text":"a"}` {
		return plugin.Suspend(core.TicketRequest{ID: "ask", Action: "tool:Permission", Timeout: time.Hour}), nil
	}
	return plugin.Allow, nil
}

// submitFirst submits the first input of the thread.
func (r *trace) submitFirst(t *testing.T, w *world) mailbox.Receipt {
	t.Helper()
	return w.submit(t, key, "hi", mailbox.ModeQueue)
}

// step takes one step with a reader, and notes how it ended.
func (r *trace) step(ctx context.Context, t *testing.T, w *world) {
	t.Helper()
	stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key), Whole: true}, r.event)
	r.note("stepped: %s, retry %t, %v", stepped.Outcome, stepped.Retry, err)
}

// after does something to the run a second after its first claim.
func after(act func(t *testing.T, w *world, r *trace, first mailbox.Receipt)) func(*testing.T, *world, *trace) {
	return func(t *testing.T, w *world, r *trace) {
		receipt := r.submitFirst(t, w)
		time.AfterFunc(time.Second, func() { act(t, w, r, receipt) })
		w.finish(t, key, r.event)
	}
}

// stepped does something to the run behind its first step.
func stepped(act func(t *testing.T, w *world, r *trace, first mailbox.Receipt)) func(*testing.T, *world, *trace) {
	return func(t *testing.T, w *world, r *trace) {
		receipt := r.submitFirst(t, w)
		r.step(t.Context(), t, w)
		act(t, w, r, receipt)
		w.finish(t, key, r.event)
	}
}

func cancelRun(t *testing.T, w *world, r *trace, first mailbox.Receipt) {
	r.note("a cancel")
	if _, err := w.box.Cancel(context.WithoutCancel(t.Context()), key, first.RunID); err != nil {
		t.Error(err)
	}
}

func interrupt(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
	r.note("an interrupt")
	_, err := w.box.Submit(context.WithoutCancel(t.Context()), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("rather this")}, Mode: mailbox.ModeInterrupt,
	})
	if err != nil {
		t.Error(err)
	}
}

// shortTime gives each claim three seconds and then stops it: by the deadline of the
// host, or because it stops.
func shortTime(cut func(context.Context) (context.Context, context.CancelFunc)) func(*testing.T, *world, *trace) {
	return func(t *testing.T, w *world, r *trace) {
		r.submitFirst(t, w)
		ctx, cancel := cut(t.Context())
		defer cancel()
		r.step(ctx, t, w)
		w.finish(t, key, r.event)
	}
}

func deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 3*time.Second)
}

func stops(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(3*time.Second, cancel)
	return ctx, cancel
}

// tracedEnds are the kinds of ends, and the ways of a claim to an end that it does not
// come to itself.
func tracedEnds() []traced {
	a, b := calls("echo", `{"text":"a"}`), calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`)
	naps := calls("nap", "{}")
	invalid := &model.Error{Kind: model.KindInvalid, Message: "broken pipe"}
	return []traced{
		{name: "natural"},
		{name: "natural behind a round", options: options{model: turns(says(b...), one)}},
		{name: "natural behind a parallel round", options: options{mode: agent.ParallelStreaming, model: turns(says(b...), one)}},
		{name: "a caller that steps in a loop", endless: true, options: options{model: turns(says(a...), one)}, act: func(t *testing.T, w *world, r *trace) {
			r.submitFirst(t, w)
			stepped := run.Stepped{Outcome: thread.Continue, Head: w.take(t, key)}
			for stepped.Outcome == thread.Continue {
				var err error
				stepped, err = w.stepper.Step(t.Context(), run.Work{Key: key, Head: stepped.Head, Keep: true}, r.event)
				r.note("stepped: %s, %v", stepped.Outcome, err)
			}
		}},
		{name: "natural, with input that nobody has read", options: options{model: turns(func(_ context.Context, yield func(model.Delta, error) bool) {
			time.Sleep(2 * time.Second)
			says(text("one")...)(nil, yield)
		})}, act: after(func(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
			r.note("more input")
			_, err := w.box.Submit(context.WithoutCancel(t.Context()), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("and this")}, Mode: mailbox.ModeSteer,
			})
			if err != nil {
				t.Error(err)
			}
		})},
		{name: "stopped before its calls", options: options{stop: []agent.StopPolicy{stopAtOnce}, model: turns(says(a...))}},
		{name: "blocked", gate: blockB, options: options{model: turns(says(b...))}},
		{name: "over a limit", options: options{limits: account.Limits{TokensADay: 4}, model: turns(says(a...))}},
		{name: "failed before its first commit", options: options{model: turns(breaks(invalid))}},
		{name: "failed in a round", options: options{model: turns(says(calls("echo", `{"text":"a"}`, "fatal", "{}")...)), tools: []tool.Tool{fatal}}},
		{name: "failed, which its policy tolerates once", options: options{stop: []agent.StopPolicy{consecutiveErrors(2)}, model: turns(breaks(invalid))}},
		{name: "cancelled while its model speaks", options: options{model: turns(hangs)}, act: after(cancelRun)},
		{name: "cancelled while a tool runs", options: options{tools: []tool.Tool{nap}, model: turns(says(naps...))}, act: after(cancelRun)},
		{name: "cancelled while it waits", gate: askA, options: options{model: turns(says(b...))}, act: stepped(cancelRun)},
		{name: "superseded while its model speaks", options: options{model: turns(hangs, one)}, act: after(interrupt)},
		{name: "superseded while it waits", gate: askA, options: options{model: turns(says(a...), one)}, act: stepped(interrupt)},
		{name: "expired", gate: askA, options: options{model: turns(says(a...))}, act: stepped(func(*testing.T, *world, *trace, mailbox.Receipt) {})},
		{name: "dead-lettered", endless: true, options: options{model: turns(says(a...), one)}, act: stepped(func(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
			for range 5 {
				w.take(t, key)
				w.reclaim(t)
			}
		})},
		{name: "decided", endless: true, gate: askA, options: options{model: turns(says(b...), one)}, act: stepped(func(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
			r.note("a decision")
			w.mustDecide(t, 0, approve)
		})},
		{name: "decided beside a sibling that runs", gate: askA, options: options{mode: agent.ParallelStreaming, model: turns(says(calls("echo", `{"text":"a"}`, "nap", "{}")...), one), tools: []tool.Tool{nap}}, act: after(func(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
			r.note("a decision")
			w.mustDecide(t, 0, deny)
		})},
		{name: "given back for its model", options: options{model: turns(breaks(&model.Error{Kind: model.KindOverloaded, Message: "later", RetryAfter: time.Minute}), one)}},
		{name: "given back by a host that stops, in a round", options: options{tools: []tool.Tool{nap}, model: turns(says(calls("echo", `{"text":"a"}`, "nap", "{}")...), one)}, act: shortTime(stops)},
		{name: "timed out in its model", endless: true, options: options{model: turns(hangs)}, act: shortTime(deadline)},
		{name: "taken over in a round", options: options{model: turns(says(a...), one)}, act: func(t *testing.T, w *world, r *trace) {
			r.submitFirst(t, w)
			commit := w.store.OnCommit
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if c.Head.Run.Cursor == thread.CursorInfer && c.Head.Seq > 2 { // commit B of the round
					w.store.dead.Store(true)
					return store.Outcome{}, errDead
				}
				return commit(ctx, key, c)
			}
			r.step(t.Context(), t, w)
			w.store.dead.Store(false)
			w.store.OnCommit = commit
			w.reclaim(t)
			w.finish(t, key, r.event)
		}},
		{name: "lost to another claim while its model speaks", options: options{model: turns(hangs, one)}, act: after(func(t *testing.T, w *world, r *trace, _ mailbox.Receipt) {
			r.note("the claim is taken from it")
			if err := w.box.Reclaim(context.WithoutCancel(t.Context()), []core.ThreadKey{key}); err != nil {
				t.Error(err)
			}
		})},
		{name: "deleted while its model speaks", options: options{model: turns(hangs)}, act: func(t *testing.T, w *world, r *trace) {
			r.submitFirst(t, w)
			time.AfterFunc(time.Second, func() {
				r.note("a deletion")
				if err := w.box.Delete(context.WithoutCancel(t.Context()), key, ""); err != nil {
					t.Error(err)
				}
			})
			r.step(t.Context(), t, w)
		}},
		{name: "a close that the store refuses for a while", options: options{model: turns(one), refuse: 8}},
		{name: "a turn that is too large", options: options{model: turns(says(text(strings.Repeat("x", 3000))...)), limit: 3000}},
		{name: "an end that is too large", options: options{model: turns(says(text(strings.Repeat("x", 2000))...)), limit: 3300}, act: func(t *testing.T, w *world, r *trace) {
			w.request(t, "hi", 1500)
			w.finish(t, key, r.event)
		}},
	}
}
