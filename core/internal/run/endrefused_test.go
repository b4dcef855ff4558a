package run_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// firstCharge refuses the first charge.
func firstCharge(failure error) func(w *world) *int {
	return func(w *world) *int {
		asked := new(int)
		w.store.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
			if *asked++; *asked == 1 {
				return store.Admission{}, false, failure
			}
			return w.store.Backend.Charge(ctx, tenant, c)
		}
		return asked
	}
}

// firstRead refuses the first read from a time on.
func firstRead(failure error, from func() bool) func(w *world) *int {
	return func(w *world) *int {
		asked := new(int)
		w.store.read = func(string) error {
			if from() && *asked == 0 {
				*asked++
				return failure
			}
			return nil
		}
		return asked
	}
}

// firstPut refuses the first put.
func firstPut(failure error) func(w *world) *int {
	return func(w *world) *int {
		asked := new(int)
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if *asked++; *asked == 1 {
				return failure
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		return asked
	}
}

// submitted submits the input of a run.
func submitted(t *testing.T, w *world) mailbox.Receipt {
	t.Helper()
	return w.submit(t, key, "hi", mailbox.ModeQueue)
}

// cancelledLater submits the input of a run that is cancelled a second after.
func cancelledLater(t *testing.T, w *world) mailbox.Receipt {
	t.Helper()
	receipt := submitted(t, w)
	time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
	return receipt
}

// An end that the store is in the way of, before its write, is tried by the next claim, and
// leaves out nothing: not what the run was asked, nor what a tool has come to, nor what a model
// has used.
func TestAnEndThatIsRefusedBeforeItsWrite(t *testing.T) {
	refused := core.Errorf(core.CodeInvalid, "no such table")
	invalid := &model.Error{Kind: model.KindInvalid, Message: "no"}
	failed := false // the model has
	fails := func(ctx context.Context, yield func(model.Delta, error) bool) {
		failed = true
		breaks(invalid)(ctx, yield)
	}
	tests := []struct {
		name    string
		options options
		begin   func(t *testing.T, w *world) mailbox.Receipt // up to the claim
		refuse  func(w *world) (asked *int)                  // the first operation of a kind
		log     []string
		end     string
		tokens  string
	}{
		{
			name: "what its input takes back cannot be read", options: options{model: turns(one, one, fails)},
			begin: func(t *testing.T, w *world) mailbox.Receipt {
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.supersedes(t, 1, "again")
				w.finish(t, key, nil)
				return w.supersedes(t, 4, "once more")
			},
			refuse: firstRead(refused, func() bool { return failed }),
			log:    []string{"user: hi", "assistant: one", "state", "user: again", "assistant: one", "state", "user: once more"}, end: `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`, tokens: "20 tokens, 0 USD",
		},
		{
			name: "what its model has used cannot be charged", options: options{model: turns(breaks(invalid))},
			begin:  submitted,
			refuse: firstCharge(refused),
			log:    []string{"user: hi"}, end: `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`, tokens: "10 tokens, 0 USD",
		},
		{
			name: "result cannot be stored", options: options{
				mode: agent.Sequential, model: turns(says(calls("obeys", "{}")...)),
				tools: []tool.Tool{toolFunc{name: "obeys", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					<-ctx.Done()
					return tool.NewResult("cut short"), nil
				}}},
			},
			begin:  cancelledLater,
			refuse: firstPut(refused),
			log:    []string{"user: hi", "assistant: [obeys {}]", `tool: "cut short"`}, end: `done 1 {"type":"cancelled"} ""`, tokens: "5 tokens, 0 USD",
		},
		{
			name: "what a cancelled run has used cannot be charged", options: options{model: turns(hangs)},
			begin:  cancelledLater,
			refuse: firstCharge(refused), log: []string{"user: hi"}, end: `done 0 {"type":"cancelled"} ""`, tokens: "5 tokens, 0 USD",
		},
		{
			name: "a result that was to go with the step cannot be stored", options: options{
				model:   turns(says(calls("echo", `{"text":"a"}`)...)),
				plugins: []plugin.Plugin{hooks(core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, errPassing })},
			},
			begin:  submitted,
			refuse: firstPut(refused), log: []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`},
			end: `done 1 {"type":"error","code":"plugin","detail":"phase step_end: plugin \"hooks\" failed"} ""`, tokens: "5 tokens, 0 USD",
		},
		{
			name: "the head of a run that is cancelled cannot be read", options: options{model: turns(one)},
			begin: func(t *testing.T, w *world) mailbox.Receipt {
				receipt := submitted(t, w)
				w.take(t, key)
				cancelRun(t, w, &trace{}, receipt)
				w.reclaim(t)
				return receipt
			},
			refuse: func(w *world) *int {
				asked := new(int)
				w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
					if *asked++; *asked == 1 {
						return thread.Head{}, refused
					}
					return w.store.Backend.Head(ctx, key)
				}
				return asked
			},
			log: []string{"user: hi"}, end: `done 0 {"type":"cancelled"} ""`, tokens: "0 tokens, 0 USD",
		},
		{
			name: "a run that is cancelled cannot be read", options: options{cache: 1, model: turns(says(calls("obeys", "{}")...)), tools: []tool.Tool{toolFunc{name: "obeys"}}},
			begin: func(t *testing.T, w *world) mailbox.Receipt {
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, commitA+1)
				cancelRun(t, w, &trace{}, receipt)
				return receipt
			},
			refuse: firstRead(refused, func() bool { return true }),
			log:    []string{"user: hi", "assistant: [obeys {}]", "tool: outcome unknown: the run was ended while the tool may have run"},
			end:    `done 1 {"type":"cancelled"} ""`, tokens: "5 tokens, 0 USD",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				tt.options.logger, tt.options.limits = got.logger(), account.Limits{TokensADay: 1000}
				w := newWorld(t, tt.options)
				receipt := tt.begin(t, w)
				head := w.take(t, key)
				asked := tt.refuse(w)
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if !stepped.Retry || err != nil || *asked == 0 {
					t.Errorf("behind %d operations the step is %+v, %v; want it given back", *asked, stepped, err)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if lines := strings.Join(got.lines, "\n"); !strings.Contains(lines, "step released, will be retried") || !strings.Contains(lines, `no such table"`) {
					t.Errorf("the log says %s", lines)
				}
				if end, used := w.end(t, key, receipt), w.used(t); end != tt.end || used != tt.tokens {
					t.Errorf("the run is %s and %s are counted, want %s and %s", end, used, tt.end, tt.tokens)
				}
			})
		})
	}
}

// What the model of a lost claim has used is charged to the day, whoever has taken the run away;
// and where that cannot be, the log says so.
func TestWhatALostClaimHasUsed(t *testing.T) {
	const warning = `level=WARN msg="usage of a lost claim not charged" step=1 error="charge the tenant: charge run RUN: no such table"`
	paused := regexp.MustCompile(` wait=\S+`)
	pieces := func(_ context.Context, yield func(model.Delta, error) bool) { // what has no end is taken back, under the next fence
		if yield(begin(0, "x", "echo"), nil) {
			yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded, Message: "busy"})
		}
	}
	tests := []struct {
		name    string
		does    turn
		take    func(t *testing.T, w *world)
		refused bool
		tokens  string
		log     []string
	}{
		{"another claim", hangs, func(t *testing.T, w *world) { w.reclaim(t) }, false, "5 tokens, 0 USD", nil},
		{"another claim, and no charge", hangs, func(t *testing.T, w *world) { w.reclaim(t) }, true, "0 tokens, 0 USD", []string{warning}},
		{"deleted", pieces, func(t *testing.T, w *world) {
			if err := w.box.Delete(context.WithoutCancel(t.Context()), key, ""); err != nil {
				t.Error(err)
			}
		}, false, "5 tokens, 0 USD", []string{`level=WARN msg="model call failed, will be retried" step=1 kind=overloaded failed=1 error=busy`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				var w *world
				w = newWorld(t, options{limits: account.Limits{TokensADay: 1000}, logger: got.logger(), model: turns(func(ctx context.Context, yield func(model.Delta, error) bool) {
					tt.take(t, w)
					tt.does(ctx, yield)
				})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				if tt.refused {
					w.store.OnCharge = func(context.Context, string, store.Use) (store.Admission, bool, error) {
						return store.Admission{}, false, core.Errorf(core.CodeInvalid, "no such table")
					}
				}
				_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, listener)
				if core.CodeOf(err) != core.CodeFenced || w.used(t) != tt.tokens {
					t.Errorf("the step comes to %v, and %s are counted; want a lost claim and %s", err, w.used(t), tt.tokens)
				}
				for i, line := range got.lines {
					got.lines[i] = paused.ReplaceAllString(strings.ReplaceAll(line, receipt.RunID.String(), "RUN"), "")
				}
				if diff := cmp.Diff(tt.log, got.lines); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A tenant that is over its limit asks no model any more. A round that is open goes on all the
// same, also with another claim.
func TestARoundOfATenantOverItsLimitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{limits: account.Limits{TokensADay: 4}, model: turns(says(calls("echo", `{"text":"a"}`)...))}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if end := w.end(t, key, receipt); !strings.HasPrefix(end, `done 1 {"type":"stopped","code":"tenant_limit"`) {
			t.Errorf("the run is %s", end)
		}
	})
}

// Last words of a step behind the first name the member of the pool that said them, too.
func TestLastWordsOfALaterStepNameTheirMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{agents: pooled(t, turns(says(calls("echo", `{"text":"a"}`)...), hangs))})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
		w.step(t, key)
		if last := w.entry(t, 4); last.Message.Text() != "half" || last.Member == nil || last.Member.Model != "m-east" {
			t.Errorf("the last words are %+v of %+v", last.Message, last.Member)
		}
	})
}

// A run that closes and nobody hears of says not that RunEnd was skipped, and the process that
// has closed it knows its thread without reading it again.
func TestWhatAProcessKnowsOfARunThatItHasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: turns(says(calls("nap", "{}")...), one), tools: []tool.Tool{nap}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
		w.finish(t, key, nil)
		if r := w.runRecord(t, receipt.RunID); r.Skipped || !r.InRound || r.Status != core.RunDone {
			t.Errorf("the record is %+v", r)
		}
		w.submit(t, key, "more", mailbox.ModeQueue)
		var reads []string
		w.store.read = func(what string) error {
			reads = append(reads, what[:2])
			return nil
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"Q#"}, reads); diff != "" || w.head(t, key).Seq != 5 {
			t.Errorf("the next run reads (-want +got):\n%s", diff)
		}
	})
}
