package run_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A round that waited twice leads back, from the record that closes it, to each of its
// waits: what a refused write has left behind is in no such chain.
func TestRecordsLeadBackToTheWaitsOfTheirRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := state.Key[int, int]{Name: "n", Scope: state.ScopeRun, Apply: func(v, u int) int { return v + u }}
		counting := pluginFunc{id: "counting", register: func(r *plugin.Registrar) {
			r.Key(counts)
			r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return counts.Update(1), nil })
		}}
		w := newWorld(t, options{
			model: replies(calls("ask", "{}", "ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("done"), nil }}},
			plugins: []plugin.Plugin{asking("ask"), counting},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		first := w.head(t, key).Run.Round
		w.mustDecide(t, 0, approve)
		w.step(t, key)
		second := w.head(t, key).Run.Round
		w.mustDecide(t, 1, approve)
		w.step(t, key)
		var round thread.RoundRecord
		if err := (thread.Records{}).Decode("round", w.record(t, recordname.Round(receipt.RunID, second)).Payload, &round); err != nil {
			t.Fatal(err)
		}
		entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(5)).Payload)
		if err != nil || first == 0 || second <= first || entry.Message != nil || entry.Round != second || round.After != first {
			t.Errorf("the round waited at versions %d and %d; its record leads to %d (%v), and the second wait to %d", first, second, entry.Round, err, round.After)
		}
	})
}

// The record of a run that ended while a round was open says so.
func TestRecordSaysWhetherARoundWasOpen(t *testing.T) {
	for _, cancelled := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{model: replies(calls("ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}}, plugins: []plugin.Plugin{asking("ask")}})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.step(t, key)
			if cancelled {
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
			} else {
				w.mustDecide(t, 0, cancels)
			}
			w.finish(t, key, nil)
			if r := w.runRecord(t, receipt.RunID); r.InRound != cancelled || r.Status != core.RunDone {
				t.Errorf("cancelled %t: the record is %+v", cancelled, r)
			}
		})
	}
}

// What an end that was refused has left in the record of a run says nothing of the end
// that the run comes to.
func TestRefusedEndLeavesNoRoundOpen(t *testing.T) {
	for _, cancelled := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := options{model: replies(calls("ask", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}}, plugins: []plugin.Plugin{asking("ask")}}
			w := newWorld(t, o)
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.step(t, key)
			r, head := w.runRecord(t, receipt.RunID), w.head(t, key)
			r.InRound, r.Ending = true, &thread.Ending{Version: head.Version + 1, Termination: core.Termination{Type: core.TerminationError}}
			payload, err := thread.Records{}.EncodeRun(&r)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Run(receipt.RunID), Fence: head.Fence, Version: head.Version + 1, Payload: payload}); err != nil {
				t.Fatal(err)
			}
			w.mustDecide(t, 0, cancels)
			w.stepper = w.other(t, o)
			w.step(t, key) // the round closes
			if cancelled {
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				w.stepper = w.other(t, o)
			}
			w.finish(t, key, nil)
			if r := w.runRecord(t, receipt.RunID); r.InRound || r.Status != core.RunDone {
				t.Errorf("cancelled %t: the record is %+v", cancelled, r)
			}
		})
	}
}

// What hooks asked for a call counts with the result that says that the tool's own
// cannot be stored.
func TestHooksCountWithAResultThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := toolFunc{name: "long", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.NewResult(strings.Repeat("x", 70<<10)), nil
		}}
		counts := state.Key[int, int]{Name: "n", Scope: state.ScopeRun, Apply: func(v, u int) int { return v + u }}
		counting := pluginFunc{id: "counting", register: func(r *plugin.Registrar) {
			r.Key(counts)
			r.OnBeforeTool(func(context.Context, plugin.BeforeTool) (state.Command, error) { return counts.Update(1), nil })
		}}
		w := newWorld(t, options{model: replies(calls("long", "{}"), text("ok")), tools: []tool.Tool{long}, plugins: []plugin.Plugin{counting}})
		w.limit(64 << 10)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: hi", "assistant: [long {}]", "tool: result cannot be stored: it is too large", "state", "assistant: ok"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A turn's record says how often the model had failed before, over all deliveries.
func TestRecordOfATurnCountsFailedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		flaky := modelFunc(func(context.Context, model.Request) iter.Seq2[model.Delta, error] {
			return func(yield func(model.Delta, error) bool) {
				if asked++; asked < 3 {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded, Message: "no"})
					return
				}
				for _, d := range text("ok") {
					if !yield(d, nil) {
						return
					}
				}
			}
		})
		w := newWorld(t, options{model: flaky})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if failed := w.turnOf(t).Retried; failed != 2 {
			t.Errorf("the turn's record counts %d failed calls, want 2", failed)
		}
	})
}
