package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A round whose decisions are waited for together runs on side by side, also when its agent
// is to run one call after the other by now; one that has only waited runs on as the agent says.
func TestHowARoundRunsOnBehindAWait(t *testing.T) {
	tests := []struct {
		from    agent.ExecutionMode
		decided []int // by index
		took    time.Duration
		places  []int
	}{
		{agent.ParallelBatchApproval, []int{0, 1, 2}, time.Second, []int{1, 2, 3}},
		{agent.ParallelStreaming, []int{0, 1}, 2 * time.Second, []int{0, 0}},
		{agent.ParallelStreaming, []int{1}, time.Second, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.from, tt.decided), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{
					mode: tt.from, model: replies(calls("add", "{}", "add", "{}", "add", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "add", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						time.Sleep(time.Second + time.Duration(c.Index)*time.Microsecond)
						return tool.NewResult("added").With(appended.Update(fmt.Sprint(c.Index))), nil
					}}},
					plugins: []plugin.Plugin{asking("add"), pluginFunc{"keys", func(r *plugin.Registrar) { r.Key(appended) }}},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				o.mode = agent.Sequential
				w.stepper = w.other(t, o)
				for _, i := range tt.decided {
					w.mustDecide(t, i, approve)
				}
				base, began := w.head(t, key).Run.Base, time.Now()
				w.step(t, key)
				if took := time.Since(began).Truncate(time.Millisecond); took != tt.took {
					t.Errorf("the step took %s, want %s", took, tt.took)
				}
				for i, place := range tt.places {
					if slices.Contains(tt.decided, i) && int(w.entry(t, base+uint64(i)).Place) != place {
						t.Errorf("result %d stands at %d, want %d", i, w.entry(t, base+uint64(i)).Place, place)
					}
				}
			})
		})
	}
}

// changeRound changes the record of the round that waits.
func (w *world) changeRound(t *testing.T, change func(r *thread.RoundRecord)) (was thread.RoundRecord) {
	t.Helper()
	run := w.head(t, key).Run
	record := w.record(t, recordname.Round(run.ID, run.Round))
	if err := (thread.Records{}).Decode("round", record.Payload, &was); err != nil {
		t.Fatal(err)
	}
	changed := was
	change(&changed)
	payload, err := thread.Records{}.Encode("round", &changed)
	if err != nil {
		t.Fatal(err)
	}
	record.Payload, record.Fence = payload, record.Fence+1
	if err := w.store.Backend.Put(t.Context(), key, record); err != nil {
		t.Fatal(err)
	}
	return was
}

// A round that waits again and again keeps the order in which its calls were merged.
func TestTheOrderOfAMergeOverManyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("ask", "{}", "echo", `{"text":"b"}`, "ask", "{}", "ask", "{}"), text("ok")),
			tools: []tool.Tool{counted("ask", false, new(int))}, plugins: []plugin.Plugin{asking("ask")},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		var got [][]int
		for _, i := range []int{2, 0, 3} {
			w.step(t, key)
			got = append(got, w.changeRound(t, func(*thread.RoundRecord) {}).Merged)
			w.mustDecide(t, i, approve)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([][]int{{1}, {1, 2}, {1, 2, 0}}, got); diff != "" {
			t.Errorf("calls that were merged (-want +got):\n%s", diff)
		}
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A record of a round that is not its head's, or a result that it names and that is lost, is
// damage: the run ends.
func TestARoundThatWaitsAndIsDamaged(t *testing.T) {
	tests := []struct {
		name   string
		change func(r *thread.RoundRecord)
	}{
		{"a call below the first", func(r *thread.RoundRecord) { r.Merged = []int{-1} }},
		{"a call behind the last", func(r *thread.RoundRecord) { r.Merged = []int{2} }},
		{"a call that is not done", func(r *thread.RoundRecord) { r.Merged = []int{1} }},
		{"another turn's", func(r *thread.RoundRecord) { r.Turn++ }},
		{"a result is lost", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{
					mode: agent.ParallelStreaming, model: replies(calls("echo", `{"text":"a"}`, "ask", "{}"), text("ok")),
					tools: []tool.Tool{counted("ask", false, new(int))}, plugins: []plugin.Plugin{asking("ask")},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if tt.change != nil {
					w.changeRound(t, tt.change)
				} else {
					w.misplace(t, 3, nil)
				}
				w.stepper = w.other(t, o)
				w.mustDecide(t, 1, approve)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 1 {"type":"error","code":"corrupt"`) {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// The line goes on behind what was merged before a wait.
func TestTheLineGoesOnBehindAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{1, 1, 9}, []string{"a", "b", "c"})
		p.gate = func(c plugin.GateCall) (v plugin.Verdict, err error) {
			if c.CallIndex > 0 {
				v = suspends(fmt.Sprint("ask", c.CallIndex))
			}
			return v, nil
		}
		p.step(t, key)
		p.mustDecide(t, 1, approve)
		p.mustDecide(t, 2, approve)
		time.AfterFunc(3*time.Second, func() { p.store.dead.Store(true) })
		p.die(t)
		p.told = nil
		p.comesTo(t, []string{"call 0", "call 1", "call 1", "call 2"}, []string{"1 ok", "2 ok"},
			[]string{`ok: "added 0"`, `ok: "added 1" after about-ask1`, `ok: "added 2" after about-ask2`}, []string{"1", "2", "3", "abc"})
		time.Sleep(20 * time.Second)
	})
}

// There is nothing to look at in the result of a call that a person has ended.
func TestAfterToolExecuteOfACallThatAPersonEnded(t *testing.T) {
	ends := map[string]func(*testing.T, *world){
		"denied":    func(t *testing.T, w *world) { w.mustDecide(t, 0, deny) },
		"cancelled": func(t *testing.T, w *world) { w.submit(t, key, "and?", mailbox.ModeSteer) },
	}
	for status, end := range ends {
		t.Run(status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard []string
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("ask", "{}", "echo", `{"text":"b"}`), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}},
					plugins: []plugin.Plugin{asking("ask"), pluginFunc{"hears", func(r *plugin.Registrar) {
						r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
							heard = append(heard, fmt.Sprint(c.CallIndex, c.Result.Status))
							return state.Command{}, nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				end(t, w)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{"1ok"}, heard); diff != "" || w.statuses(t)[0] != core.ResultStatus(status) {
					t.Errorf("statuses %s; AfterToolExecute was shown (-want +got):\n%s", w.statuses(t), diff)
				}
			})
		})
	}
}

// A call runs again though all places for tickets are taken: it asks for none.
func TestACallRunsAgainBesideAllTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn []string
		for range 8 {
			turn = append(turn, "ask", "{}")
		}
		runs := 0
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls(append(turn, "slow", "{}")...), text("ok")), plugins: []plugin.Plugin{asking("ask")},
			tools: []tool.Tool{toolFunc{name: "ask"}, toolFunc{name: "slow", run: func(context.Context, tool.Call) (tool.Result, error) {
				if runs++; runs == 1 {
					time.Sleep(9 * time.Second)
				}
				return tool.NewResult("ran"), nil
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() { w.store.dead.Store(true) })
		w.die(t)
		w.step(t, key)
		want := "waiting [" + strings.Repeat("suspended ", 8) + "done]"
		if got := w.stands(t); got != want || runs != 2 {
			t.Errorf("the run is %s after %d runs of the tool, want %s after 2", got, runs, want)
		}
		time.Sleep(20 * time.Second)
	})
}

// A mark that cannot be stored lets no tool start: the step is given back.
func TestAMarkThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("once", "{}", "once", "{}"), text("ok")), tools: []tool.Tool{counted("once", true, &ran)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if slices.Contains(c.Head.Run.Calls, thread.CallRunning) {
				return store.Outcome{}, core.Errorf(core.CodeUnavailable, "the disk is away")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
		if err != nil || !stepped.Retry || ran != 0 || w.stands(t) != "running [new new]" {
			t.Errorf("the step is %+v, %v, and the tools ran %d times; the run is %s", stepped, err, ran, w.stands(t))
		}
		w.store.OnCommit = nil
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` || ran != 2 {
			t.Errorf("the run is %s, and the tools ran %d times", got, ran)
		}
	})
}

// A result without a change that cannot be stored keeps back none that has a place.
func TestAResultWithoutAPlaceKeepsBackNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{1, 20, 40}, []string{"", "b", "c"})
		keeps := p.store.OnPut
		p.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(3) {
				return store.ErrThrottled
			}
			return keeps(ctx, key, r)
		}
		if _, err := p.stepper.Step(t.Context(), run.Work{Key: key, Head: p.take(t, key)}, p.tell); err != nil && !errors.Is(err, store.ErrThrottled) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"call 1", "call 2"}, p.puts); diff != "" {
			t.Errorf("puts (-want +got):\n%s", diff)
		}
	})
}
