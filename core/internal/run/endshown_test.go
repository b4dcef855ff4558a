package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
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

// tallies is a plugin that adds one to a value of the thread and to one of the run before each
// inference. At the run's end it adds one to the thread's and asks for an effect, which notes
// what it is shown.
func tallies(shown *[]string) plugin.Plugin {
	return pluginFunc{"counting", func(r *plugin.Registrar) {
		r.Key(inThread)
		r.Key(inRun)
		both := func() state.Command { return state.Combine(inThread.Update(1), inRun.Update(1)) }
		r.OnBeforeInference(func(context.Context, plugin.BeforeInference) (state.Command, error) { return both(), nil })
		tell := plugin.Effect[string]{Name: "tell"}
		tell.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ string) error {
			ofThread, err := inThread.Read(c.Snapshot)
			if err != nil {
				return err
			}
			ofRun, err := inRun.Read(c.Snapshot)
			*shown = append(*shown, fmt.Sprintf("%d in the thread, %d in the run", ofThread, ofRun))
			return err
		})
		r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
			return state.Combine(inThread.Update(1), tell.Emit("bye")), nil
		})
	}}
}

// The effects of RunEnd are shown the state that the end leaves: without what RunEnd has changed
// where that had no room, and without what an earlier run has left of its own.
func TestTheStateThatEffectsOfRunEndAreShown(t *testing.T) {
	tests := []struct {
		name  string
		form  thread.Form
		began bool // the second run has, before it is ended
		want  string
	}{
		{"whole", thread.FormWhole, true, "3 in the thread, 1 in the run"},
		{"without changes", thread.FormStateless, true, "2 in the thread, 1 in the run"},
		{"whole, of a run that never began", thread.FormWhole, false, "3 in the thread, 0 in the run"},
		{"without changes, of a run that never began", thread.FormStateless, false, "2 in the thread, 0 in the run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				w := newWorld(t, options{model: turns(one, says(calls("nap", "{}")...), one), tools: []tool.Tool{nap}, plugins: []plugin.Plugin{tallies(&shown)}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				receipt := w.submit(t, key, "more", mailbox.ModeQueue)
				if tt.began {
					time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
				} else {
					w.take(t, key)
					cancelRun(t, w, &trace{}, receipt)
					w.reclaim(t)
				}
				w.refuseClose(int(tt.form), store.ErrTooLarge)
				w.finish(t, key, nil)
				want := tt.want
				if tt.began {
					want = strings.Replace(strings.Replace(want, "3", "4", 1), "2 in", "3 in", 1)
				}
				if diff := cmp.Diff([]string{"2 in the thread, 1 in the run", want}, shown); diff != "" || w.form(t, receipt) != tt.form {
					t.Errorf("in the form %s (-want +got):\n%s", w.form(t, receipt), diff)
				}
			})
		})
	}
}

// A thread that cannot be read, and an end that is too large: it ends all the same.
func TestAnEndWithoutChangesOfAThreadThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		o := options{model: turns(says(calls("nap", "{}")...), one), tools: []tool.Tool{nap}, plugins: []plugin.Plugin{tallies(&shown)}}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		cancelRun(t, w, &trace{}, receipt)
		w.spoil(t, store.LogName(2))
		w.stepper = w.other(t, o)
		w.refuseClose(int(thread.FormStateless), store.ErrTooLarge)
		began := time.Now()
		stepped := w.step(t, key)
		if diff := cmp.Diff(run.Stepped{Outcome: thread.Done, Head: w.head(t, key)}, stepped); diff != "" || time.Since(began) != 0 {
			t.Errorf("after %s (-want +got):\n%s", time.Since(began), diff)
		}
		if got := w.end(t, key, receipt); got != `done 0 {"type":"cancelled"} ""` || w.form(t, receipt) != thread.FormStateless {
			t.Errorf("the run is %s in the form %s", got, w.form(t, receipt))
		}
	})
}

// stateEvents are what a reader is shown of the state, a line each.
func stateEvents(lines *[]string) func(core.Event) error {
	return func(e core.Event) error {
		switch {
		case e.Type == core.EventRunStart || e.Type == core.EventRunFinish:
			*lines = append(*lines, string(e.Type))
		case len(e.Patch) > 0:
			*lines = append(*lines, string(e.Patch))
		case len(e.Snapshot) > 0:
			*lines = append(*lines, string(e.Snapshot))
		}
		return nil
	}
}

// A reader is shown what each record has changed of the state behind its commit, that of a turn
// with calls too, and the whole of it where the step leaves it. One who hears of a run whose end
// is all that it does is shown the state, too.
func TestWhatAReaderIsShownOfTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown, turn, end []string
		w := newWorld(t, options{model: turns(says(calls("echo", `{"text":"a"}`)...), one), plugins: []plugin.Plugin{tallies(&shown)}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, stateEvents(&turn)); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		receipt := w.submit(t, key, "more", mailbox.ModeQueue)
		w.take(t, key)
		cancelRun(t, w, &trace{}, receipt)
		w.reclaim(t)
		w.refuseClose(int(thread.FormStateless), store.ErrTooLarge)
		w.finish(t, key, stateEvents(&end))
		if diff := cmp.Diff([]string{
			"run_start", `[{"op":"add","path":"/thread/in_thread","value":1},{"op":"add","path":"/run/in_run","value":1}]`,
			`{"thread":{"in_thread":1},"run":{"in_run":1}}`,
		}, turn); diff != "" {
			t.Errorf("in a step with calls (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"run_start", `{"thread":{"in_thread":3},"run":{}}`, "run_finish"}, end); diff != "" {
			t.Errorf("at an end (-want +got):\n%s", diff)
		}
	})
}

// What a tool came to is shown, and stored, as it is, in an end that cuts what it adds itself.
func TestTheLastFormCutsNoResultThatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 9000)
		loud := toolFunc{name: "loud", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Failed(long), nil }}
		o := options{mode: agent.Sequential, tools: []tool.Tool{loud, nap}, model: replies(calls("loud", "{}", "nap", "{}"))}
		w := least(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		cancelRun(t, w, &trace{}, receipt)
		w.stepper = w.other(t, o)
		shown := map[string]int{}
		w.refuseClose(int(thread.FormLeast), store.ErrTooLarge)
		w.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				shown[e.Name] = len(e.Result)
			}
			return nil
		})
		if diff := cmp.Diff(map[string]int{"loud": 9012, "nap": 74}, shown); diff != "" || w.form(t, receipt) != thread.FormLeast {
			t.Errorf("in the form %s the results have so many bytes (-want +got):\n%s", w.form(t, receipt), diff)
		}
		if got := len(w.entry(t, 3).Message.ToolResult.Message); got != len(long) {
			t.Errorf("the stored one has %d bytes", got)
		}
	})
}

// A run without a form for its answer has answered with all of its last turn.
func TestTheResponseOfARunWithoutAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies([]model.Delta{say("I look. "), think("hm"), say("It is so."), stopped})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "I look. It is so."` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A failure that ends a run with its first write hands on the head of that.
func TestTheHeadOfARunThatHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: turns(breaks(&model.Error{Kind: model.KindInvalid, Message: "no"}))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		stepped := w.step(t, key)
		if diff := cmp.Diff(run.Stepped{Outcome: thread.Done, Head: w.head(t, key)}, stepped); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The record of a run that fails in a round says that this is open from the write on by which it
// begins to close, also where one call is all that the round has.
func TestTheRecordOfARunThatFailsInItsRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("fatal", "{}")), tools: []tool.Tool{fatal}, limit: 1 << 20})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crashClosing(t)
		for _, status := range []core.RunStatus{core.RunRunning, core.RunDone} {
			if r := w.runRecord(t, receipt.RunID); r.Status != status || !r.InRound {
				t.Errorf("the run is %s, in a round %t; want %s, and in one", r.Status, r.InRound, status)
			}
			w.finish(t, key, nil)
		}
	})
}
