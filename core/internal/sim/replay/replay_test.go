package replay_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/internal/typed"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func TestReplayFindsWhatTheCodeDoesOtherwise(t *testing.T) {
	var now time.Time
	tests := []struct {
		name    string
		present code
		want    string
	}{
		{"nothing", code{}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): the same"},
		{"a reducer", code{apply: func(v, u int) int { return v + 2*u }}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): differs\n" +
			"  log, step 1, sequence 4, field patch[0].value, state key /thread/tally, plugin tally, from the round's calls, step_end and run_end\n" +
			"  recorded: 11\n  present:  22"},
		{"a hook", code{end: func(plugin.StepEnd) (state.Command, error) { return tally{}.key().Update(7), nil }}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): differs\n" +
			"  log, step 1, sequence 4, field patch[0].value, state key /thread/tally, plugin tally, from the round's calls, step_end and run_end\n" +
			"  recorded: 11\n  present:  17"},
		{"a hook that fails", code{end: func(plugin.StepEnd) (state.Command, error) { return state.Command{}, errors.New("no") }}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): differs\n" +
			"  log, step 1, sequence 4, field patch[0].value, state key /thread/tally, plugin tally, from the round's calls, step_end and run_end\n" +
			"  recorded: 11\n  present:  110"},
		{"a gate", code{gate: func(c plugin.GateCall) (plugin.Verdict, error) { return plugin.Block("no"), nil }}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): differs\n" +
			"  log, step 1, sequence 3, field message.tool_result.data\n" +
			"  recorded: \"done\"\n  present:  nothing"},
		{"a hook that looks at the clock", code{end: func(plugin.StepEnd) (state.Command, error) {
			now = now.Add(time.Minute)
			return tally{}.key().Update(now.Minute()), nil
		}}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): differs\n" +
			"  log, step 1, sequence 4, field patch[0].value, state key /thread/tally, plugin tally, from the round's calls, step_end and run_end\n" +
			"  recorded: 11\n  present:  12\n" +
			"  two replays differ from each other there: the code reads a clock, randomness or another value that the runtime does not pass to it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now = time.Unix(60, 0)
				r := newRecorder(t, code{})
				run := r.submit(t, "hi", "")
				r.work(t)
				if diff := cmp.Diff(tt.want, r.replayed(t, tt.present, core.ID{}, run)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What a program said about its answer is in the record, and its replay needs no program.
func TestReplayOfAnAnswerThatItsProgramRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{turns: func(n int, yield func(model.Delta, error) bool, _ model.Request) {
			says(`{"n":`+strconv.Itoa(n)+`}`, yield)
		}}
		r := newRecorder(t, c)
		submission := mailbox.Submission{Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "a"}, Messages: []core.Message{core.UserMessage("go")}}
		got, result, err := typed.Run[second](t.Context(), r.Host, submission)
		if err != nil || got.N != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		_, failed, err := typed.Run[never](t.Context(), r.Host, submission)
		if core.CodeOf(err) != "invalid_output" {
			t.Fatal(err)
		}
		want := "thread t1 run RUN1 (agent a, 2 steps, 7 records): the same\nthread t1 run RUN2 (agent a, 3 steps, 10 records): the same"
		if diff := cmp.Diff(want, r.replayed(t, c, core.ID{}, mailbox.Receipt{RunID: result.Run.ID}, mailbox.Receipt{RunID: failed.Run.ID})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// second is the second answer of a model, and never is none.
type (
	second struct {
		N int `json:"n"`
	}
	never second
)

func (s second) Check() error {
	if s.N != 1 {
		return errors.New("it is not the second. Answer again, please")
	}
	return nil
}

func (never) Check() error { return errors.New("no") }

// A stop policy is code, and counts as it is now. What a spec says of them is part of
// the agent, and counts as it was when the run began.
func TestReplayUnderAnotherStopPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, code{}, agent.StopFunc(func(agent.StopView) *core.Termination { return nil }))
		r.submit(t, "hi", "")
		r.work(t)
		o := replay.Options{Agents: code{}.registry(t), Stops: stopsAfterOne}
		reports, err := o.Thread(t.Context(), r.store, key, core.ID{})
		if err != nil {
			t.Fatal(err)
		}
		want := "  log, step 1, sequence 3, field message.tool_result.data\n  recorded: \"done\"\n  present:  nothing"
		if got := reports[0].Difference.String(); got != want {
			t.Errorf("the difference is\n%s\nwant\n%s", got, want)
		}
		r = newRecorder(t, code{})
		run := r.submit(t, "hi", "")
		r.work(t)
		if got, want := r.replayed(t, code{rounds: 1}, core.ID{}, run), "thread t1 run RUN1 (agent a, 3 steps, 10 records): the same"; got != want {
			t.Errorf("with another limit: %s, want %s", got, want)
		}
	})
}

// A run that goes on with another has no input of its own: what was steered to it is none.
func TestReplayOfARunThatTakesAnotherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		asked, steered := 0, false
		c := code{
			turns: func(_ int, yield func(model.Delta, error) bool, _ model.Request) {
				switch asked++; asked {
				case 1:
					_ = yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: "no"})
				case 2:
					works(yield)
				default:
					says("ok", yield)
				}
			},
			run: func(context.Context, tool.Call) (tool.Result, error) {
				if !steered {
					steered = true
					r.submit(t, "and that", mailbox.ModeSteer)
				}
				return tool.NewResult("done"), nil
			},
		}
		r = newRecorder(t, c)
		failed := r.submit(t, "hi", "")
		r.work(t)
		taken, err := r.TakeUp(t.Context(), ann, failed.RunID)
		if err != nil {
			t.Fatal(err)
		}
		r.work(t)
		want := "thread t1 run RUN1 (agent a, 0 steps, 2 records): the same\n" +
			"thread t1 run RUN2 (agent a, 2 steps, 7 records): not replayed: it has no separate input, or its input is not in the log"
		if diff := cmp.Diff(want, r.replayed(t, c, core.ID{}, failed, taken)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What people do to runs is repeated where they did it.
func TestReplayOfWhatPeopleDid(t *testing.T) {
	waits := func(c plugin.GateCall) (plugin.Verdict, error) {
		return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
	}
	decide := func(t *testing.T, r *recorder, run mailbox.Receipt, d core.Decision) {
		t.Helper()
		info, err := r.ReadRun(t.Context(), ann, run.RunID)
		if err != nil || len(info.Tickets) != 1 {
			t.Fatal(info, err)
		}
		if _, err := r.Decide(t.Context(), ann, run.RunID, mailbox.Deciding{Target: info.Tickets[0].Suspension.ID, Decision: d}); err != nil {
			t.Fatal(err)
		}
		r.work(t)
	}
	approve := core.Decision{Action: core.DecisionResume}
	tests := []struct {
		name string
		code code
		do   func(t *testing.T, r *recorder, run mailbox.Receipt)
		want string
	}{
		{"decisions", code{gate: waits}, func(t *testing.T, r *recorder, run mailbox.Receipt) {
			decide(t, r, run, approve)
			decide(t, r, run, core.Decision{Action: core.DecisionCancel, Reason: "no"})
		}, "thread t1 run RUN1 (agent a, 3 steps, 10 records): the same"},
		{"a run that still waits", code{gate: waits}, func(t *testing.T, r *recorder, run mailbox.Receipt) {
			decide(t, r, run, approve)
		}, "thread t1 run RUN1 (agent a, 2 steps, 5 records): the same"},
		{"something else said", code{gate: waits}, func(t *testing.T, r *recorder, run mailbox.Receipt) {
			r.submit(t, "forget it", "")
			r.work(t)
			decide(t, r, run, approve)
		}, "thread t1 run RUN1 (agent a, 3 steps, 11 records): the same"},
		{"a cancel", code{gate: waits}, func(t *testing.T, r *recorder, run mailbox.Receipt) {
			if err := r.CancelRun(t.Context(), ann, run.RunID); err != nil {
				t.Fatal(err)
			}
			r.work(t)
		}, "thread t1 run RUN1 (agent a, 1 steps, 4 records): the same"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(t, tt.code)
				run := r.submit(t, "hi", "")
				r.work(t)
				tt.do(t, r, run)
				if diff := cmp.Diff(tt.want, r.replayed(t, tt.code, core.ID{}, run)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The runs of a thread are replayed on each other, and one of them on the record of
// those before it.
func TestReplayOfOneRunOfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, code{})
		var runs []mailbox.Receipt
		for range 2 {
			runs = append(runs, r.submit(t, "hi", ""))
			r.work(t)
		}
		want := "thread t1 run RUN2 (agent a, 3 steps, 10 records): the same"
		if got := r.replayed(t, code{}, runs[1].RunID, runs...); got != want {
			t.Errorf("one: %s, want %s", got, want)
		}
		want = strings.Replace(want, "RUN2", "RUN1", 1) + "\n" + want
		if got := r.replayed(t, code{}, core.ID{}, runs...); got != want {
			t.Errorf("all: %s, want %s", got, want)
		}
		_, err := replay.Options{Agents: code{}.registry(t)}.Thread(t.Context(), r.store, key, core.ID{9})
		if core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("a run that is not there: %v, want code not_found", err)
		}
		_, err = replay.Options{Agents: code{}.registry(t)}.Thread(t.Context(), r.store, core.ThreadKey{Tenant: "t", Thread: "t2"}, core.ID{})
		if core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("a thread that is not there: %v, want code not_found", err)
		}
	})
}

// Neither tools nor effects run, and what a failing model had said is not asked for.
func TestReplayRunsNoToolAndNoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := code{turns: func(n int, yield func(model.Delta, error) bool, _ model.Request) {
			if n == 0 {
				works(yield)
				return
			}
			yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: "no"})
		}}
		r := newRecorder(t, failing)
		run := r.submit(t, "hi", "")
		r.work(t)
		delivered := sent.Load()
		strict := code{
			turns: func(int, func(model.Delta, error) bool, model.Request) { t.Error("the model is called") },
			run: func(context.Context, tool.Call) (tool.Result, error) {
				t.Error("the tool runs")
				return tool.Result{}, nil
			},
		}
		want := "thread t1 run RUN1 (agent a, 1 steps, 5 records): the same"
		if got := r.replayed(t, strict, core.ID{}, run); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if again := sent.Load(); delivered == 0 || again != delivered {
			t.Errorf("%d effects ran with the run, and %d with its replay", delivered, again-delivered)
		}
	})
}
