package run_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// takes10s is a model whose nth call takes ten seconds and says the nth list of deltas;
// nil: it is overloaded. Every call costs 10 tokens.
type takes10s struct {
	turns [][]model.Delta
	calls int
}

func (m *takes10s) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		deltas := m.turns[m.calls]
		m.calls++
		time.Sleep(10 * time.Second)
		if !yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 6, Output: 4}}, nil) {
			return
		}
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
		if n := len(deltas); n == 0 || deltas[n-1].Type != model.DeltaStop {
			yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded, Message: "10.0.0.7 is busy"})
		}
	}
}

// failingTool fails.
var failingTool = toolFunc{name: "fails", run: func(context.Context, tool.Call) (tool.Result, error) {
	return tool.Failed("no luck"), nil
}}

// saying is a turn of text and of calls.
func saying(s string, pairs ...string) []model.Delta {
	return append([]model.Delta{say(s)}, calls(pairs...)...)
}

// shares are how processes may share a run between them.
var shares = []struct {
	name       string
	cold       bool // each step is another process's
	interrupts bool // each process that has stored a turn dies in its tool round, and the next comes ten minutes later if the step is the last
}{{name: "one process"}, {name: "a process for each step", cold: true}, {name: "takeovers", cold: true, interrupts: true}}

// share runs the thread to its end, in one of the ways.
func (w *world) share(t *testing.T, o options, cold, interrupts bool, last int) {
	t.Helper()
	for range 40 {
		if w.head(t, key).DueAt == 0 {
			return
		}
		head := w.take(t, key)
		writes, dies := 0, interrupts && head.Run.Cursor != thread.CursorTools
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; dies && writes == commitB {
				w.store.dead.Store(true)
				return store.Outcome{}, errDead
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		w.store.OnCommit = nil
		switch {
		case errors.Is(err, errDead):
			if w.store.dead.Store(false); int(head.Run.Step)+1 == last {
				time.Sleep(10 * time.Minute)
			}
			w.reclaim(t)
		case err != nil:
			t.Fatal(err)
		}
		if cold {
			w.stepper = w.other(t, o)
		}
	}
	t.Fatal("the thread is still due after 40 claims")
}

func TestStopPoliciesJudgeAlikeInEveryProcess(t *testing.T) {
	a, b, done := calls("echo", `{"text":"a"}`), calls("echo", `{"text":"b"}`), text("done")
	const askedA, gotA = `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`
	const askedB, gotB = `assistant: [echo {"text":"b"}]`, `tool: {"text":"b"}`
	judgeAlike(t, []judged{
		{
			"max_rounds", []agent.StopSpec{{Type: "max_rounds", Rounds: 2}}, [][]model.Delta{a, b},
			[]string{askedA, gotA, askedB, "tool: not executed: max_rounds"},
			`done 2 {"type":"stopped","code":"max_rounds","detail":"step 2 of at most 2 still asked for tools"} ""`,
		},
		{
			"max_rounds at an answer", []agent.StopSpec{{Type: "max_rounds", Rounds: 2}}, [][]model.Delta{a, done},
			[]string{askedA, gotA, "assistant: done"}, `done 2 {"type":"natural_end"} "done"`,
		},
		{
			"timeout", []agent.StopSpec{{Type: "timeout", Seconds: 25}}, [][]model.Delta{a, b, a},
			[]string{askedA, gotA, askedB, gotB, askedA, "tool: not executed: timeout"},
			`done 3 {"type":"stopped","code":"timeout","detail":"the run has taken 30s, at most 25s are allowed"} ""`,
		},
		{
			"timeout at an answer", []agent.StopSpec{{Type: "timeout", Seconds: 25}}, [][]model.Delta{a, b, done},
			[]string{askedA, gotA, askedB, gotB, "assistant: done"}, `done 3 {"type":"natural_end"} "done"`,
		},
		{
			"token_budget", []agent.StopSpec{{Type: "token_budget", MaxTotal: 25}}, [][]model.Delta{a, b, a},
			[]string{askedA, gotA, askedB, gotB, askedA, "tool: not executed: token_budget"},
			`done 3 {"type":"stopped","code":"token_budget","detail":"the run has used 30 tokens, at most 25 are allowed"} ""`,
		},
		{
			"token_budget of calls that failed", []agent.StopSpec{{Type: "token_budget", MaxTotal: 15}, {Type: "consecutive_errors", Max: 9}}, [][]model.Delta{nil, nil},
			[]string{"failed: overloaded", "failed: overloaded"},
			`done 2 {"type":"stopped","code":"token_budget","detail":"the run has used 20 tokens, at most 15 are allowed"} ""`,
		},
		{
			"max_rounds at a failed step", []agent.StopSpec{{Type: "consecutive_errors", Max: 9}, {Type: "max_rounds", Rounds: 2}}, [][]model.Delta{a, nil},
			[]string{askedA, gotA, "failed: overloaded"},
			`done 2 {"type":"stopped","code":"max_rounds","detail":"step 2 of at most 2 failed"} ""`,
		},
		{
			"stop_on_tool", []agent.StopSpec{{Type: "stop_on_tool", ToolName: "fails"}}, [][]model.Delta{a, calls("echo", `{"text":"b"}`, "fails", "{}")},
			[]string{askedA, gotA, `assistant: [echo {"text":"b"}][fails {}]`, "tool: not executed: stop_on_tool", "tool: not executed: stop_on_tool"},
			`done 2 {"type":"stopped","code":"stop_on_tool","detail":"the tool \"fails\" was called"} ""`,
		},
		{
			"content_match", []agent.StopSpec{{Type: "content_match", Pattern: "(?i)^done"}}, [][]model.Delta{a, saying("Done, almost.", "echo", `{"text":"b"}`)},
			[]string{askedA, gotA, `assistant: Done, almost.[echo {"text":"b"}]`, "tool: not executed: content_match"},
			`done 2 {"type":"stopped","code":"content_match","detail":"the text matches \"(?i)^done\""} "Done, almost."`,
		},
		{
			"content_match at an answer", []agent.StopSpec{{Type: "content_match", Pattern: "done"}}, [][]model.Delta{a, done},
			[]string{askedA, gotA, "assistant: done"},
			`done 2 {"type":"stopped","code":"content_match","detail":"the text matches \"done\""} "done"`,
		},
		{
			"loop_detection of calls", []agent.StopSpec{{Type: "loop_detection", Window: 2}}, [][]model.Delta{a, b, saying("Hm.", "echo", `{"text":"b"}`)},
			[]string{askedA, gotA, askedB, gotB, `assistant: Hm.[echo {"text":"b"}]`, "tool: not executed: loop_detection"},
			`done 3 {"type":"stopped","code":"loop_detection","detail":"the last 2 turns made the same calls"} "Hm."`,
		},
		{
			"loop_detection of texts", []agent.StopSpec{{Type: "loop_detection", Window: 2}}, [][]model.Delta{a, saying("Hm.", "echo", `{"text":"b"}`), saying("Hm.", "echo", `{"text":"a"}`)},
			[]string{askedA, gotA, `assistant: Hm.[echo {"text":"b"}]`, gotB, `assistant: Hm.[echo {"text":"a"}]`, "tool: not executed: loop_detection"},
			`done 3 {"type":"stopped","code":"loop_detection","detail":"the last 2 turns said the same text"} "Hm."`,
		},
		{
			"loop_detection across a failed step", []agent.StopSpec{{Type: "loop_detection", Window: 2}, {Type: "consecutive_errors", Max: 9}}, [][]model.Delta{a, nil, a},
			[]string{askedA, gotA, "failed: overloaded", askedA, "tool: not executed: loop_detection"},
			`done 3 {"type":"stopped","code":"loop_detection","detail":"the last 2 turns made the same calls"} ""`,
		},
	})
}

func TestWhatAPolicySees(t *testing.T) {
	for _, way := range shares {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := map[string]bool{}
				policy := agent.StopFunc(func(v agent.StopView) *core.Termination {
					var turns []string
					for _, m := range v.Turns {
						turns = append(turns, string(m.Role)+" "+m.Text())
					}
					seen[fmt.Sprintf("step %d after %s: %q %d calls, failed %q, %d tokens, %d errors, behind %s, prints %x %x",
						v.Step, v.Now.Sub(v.StartedAt), v.Turn.Text(), len(v.Turn.ToolCalls), v.Failed, v.Usage.Input+v.Usage.Output, v.ErrorSteps,
						strings.Join(turns, ", "), v.Calls, v.Texts)] = true
					return nil
				})
				m := &takes10s{turns: [][]model.Delta{saying("so", "fails", "{}"), nil, text("so")}}
				o := options{
					env:    drawing(0), // a dying process tries again, and without pauses
					agents: spec(t, m, agent.Spec{Stop: []agent.StopSpec{{Type: "consecutive_errors", Max: 9}}, Retry: agent.Retry{MaxRetries: new(0)}}, failingTool),
					stop:   []agent.StopPolicy{policy},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.share(t, o, way.cold, way.interrupts, 1)
				from := 20 * time.Second // of the second and third step
				if way.interrupts {
					from += 10 * time.Minute
				}
				want := map[string]bool{
					`step 1 after 10s: "so" 1 calls, failed "", 10 tokens, 0 errors, behind user hi, prints [fff0f233] [42521417]`:                                                                             true,
					`step 1 after 10s: "so" 1 calls, failed "", 10 tokens, 1 errors, behind user hi, prints [fff0f233] [42521417]`:                                                                             true,
					`step 2 after ` + from.String() + `: "" 0 calls, failed "overloaded", 20 tokens, 2 errors, behind user hi, assistant so, tool no luck, prints [fff0f233] [42521417]`:                       true,
					`step 3 after ` + (from + 10*time.Second).String() + `: "so" 0 calls, failed "", 30 tokens, 0 errors, behind user hi, assistant so, tool no luck, prints [fff0f233 0] [42521417 42521417]`: true,
				}
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("seen (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestWhichPolicyIsAskedFirst(t *testing.T) {
	always := func(code string) agent.StopPolicy {
		return agent.StopFunc(func(agent.StopView) *core.Termination {
			return &core.Termination{Type: core.TerminationStopped, Code: code}
		})
	}
	matches := []agent.StopSpec{{Type: "content_match", Pattern: "so"}}
	tests := []struct {
		name   string
		spec   agent.Spec
		parts  []agent.StopPolicy
		config []agent.StopPolicy
		want   string
	}{
		{"max_rounds of the spec", agent.Spec{MaxRounds: new(1), Stop: matches}, []agent.StopPolicy{always("parts")}, []agent.StopPolicy{always("config")}, "max_rounds"},
		{"the spec's list", agent.Spec{Stop: matches}, []agent.StopPolicy{always("parts")}, []agent.StopPolicy{always("config")}, "content_match"},
		{"the registry's", agent.Spec{}, []agent.StopPolicy{always("parts"), always("more")}, []agent.StopPolicy{always("config")}, "parts"},
		{"the program's", agent.Spec{}, nil, []agent.StopPolicy{always("config")}, "config"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.spec.ID, tt.spec.Model = "demo", "m"
				agents, err := registry.New(agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Model: replies(saying("so", "echo", `{"text":"a"}`))}},
					Tools:  []tool.Tool{echoTool(t)}, Specs: []agent.Spec{tt.spec}, Stops: tt.parts,
				})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, options{agents: agents, stop: tt.config})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if end := w.runRecord(t, receipt.RunID).Termination; end == nil || end.Type != "stopped" || end.Code != tt.want {
					t.Errorf("the run ended with %+v, want it stopped by %s", end, tt.want)
				}
			})
		})
	}
}

// What a policy gives is stored with the run and shown to clients: it is an end that a
// policy can give, and its texts are bounded.
func TestWhatAPolicyMayGive(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name string
		give core.Termination
		want core.Termination
	}{
		{"no type", core.Termination{Code: "mine"}, core.Termination{Type: "stopped", Code: "mine"}},
		{"behaviour", core.Termination{Type: core.TerminationBehavior, Code: "mine"}, core.Termination{Type: "behavior_requested", Code: "mine"}},
		{"a natural end", core.Termination{Type: core.TerminationNatural, Code: "mine"}, core.Termination{Type: "natural_end", Code: "mine"}},
		{"a block", core.Termination{Type: core.TerminationBlocked, Detail: "mine"}, core.Termination{Type: "blocked", Detail: "mine"}},
		{"an error", core.Termination{Type: core.TerminationError, Code: "mine"}, core.Termination{Type: "error", Code: "mine"}},
		{"long texts", core.Termination{Code: long, Detail: long}, core.Termination{Type: "stopped", Code: long[:61] + "...", Detail: long[:4096] + "..."}},
		{
			"a type that does not exist", core.Termination{Type: "bored"},
			core.Termination{Type: "error", Code: "stop_policy", Detail: `stop policy "agent.StopFunc" ends the run as "bored", which no policy can`},
		},
		{
			"a type that is the runtime's", core.Termination{Type: core.TerminationSuspended},
			core.Termination{Type: "error", Code: "stop_policy", Detail: `stop policy "agent.StopFunc" ends the run as "suspended", which no policy can`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gives := agent.StopFunc(func(agent.StopView) *core.Termination { return &tt.give })
				w := newWorld(t, options{model: replies(text("done")), stop: []agent.StopPolicy{gives}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff(&tt.want, w.runRecord(t, receipt.RunID).Termination); diff != "" {
					t.Errorf("the run ended (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A policy that panics ends its run, in whatever step it does.
func TestPolicyThatPanics(t *testing.T) {
	const end = ` {"type":"error","code":"stop_policy","detail":"stop policy \"agent.StopFunc\" panicked"} ""`
	tests := []struct {
		name string
		turn []model.Delta
		log  []string
		end  string
	}{
		{"at calls", calls("echo", `{"text":"a"}`), []string{"user: hi", `assistant: [echo {"text":"a"}]`, "tool: no result: the run was ended first (stop_policy)"}, "done 1" + end},
		{"at an answer", text("done"), []string{"user: hi"}, "done 0" + end},
		{"at a failure", nil, []string{"user: hi"}, "done 0" + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &takes10s{turns: [][]model.Delta{tt.turn}}
				panics := agent.StopFunc(func(agent.StopView) *core.Termination { panic("10.0.0.7") })
				w := newWorld(t, options{
					agents: spec(t, m, agent.Spec{Retry: agent.Retry{MaxRetries: new(0)}}),
					stop:   []agent.StopPolicy{consecutiveErrors(9), panics},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

func TestStepperRefusesANilPolicy(t *testing.T) {
	w := newWorld(t, options{})
	o := options{}.complete(t)
	_, err := run.New(run.Options{Env: o.env, Store: w.store, Committer: w.box, Agents: unpinned{resolver: o.agents}, Stops: []agent.StopPolicy{nil}})
	if err == nil || err.Error() != "run: stop policy Options.Stops[0] is nil" {
		t.Errorf("got %v", err)
	}
}

// What a reader is shown of a failed step is in the log, at the same positions: who
// comes late sees the same. What they had seen of the lost turn is announced as void,
// and what comes behind it has another attempt.
func TestReaderOfAFailedInference(t *testing.T) {
	tests := []struct {
		name string
		turn []model.Delta
		live []string // behind run_start
		late []string // nil: the same
	}{
		{
			"before it has said anything", nil,
			[]string{
				`1.1.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
				`1.1.0-0-n {"event_type":"inference_failed","step":1,"message_id":"RUN.1","failed":1,"reason":"overloaded"}`,
				`1.1.9999-0-k {"event_type":"step_end","step":1}`,
			}, nil,
		},
		{
			"within its text", []model.Delta{say("I wa")},
			[]string{
				`1.1.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
				`1.1.0-4-f {"event_type":"text_delta","step":1,"message_id":"RUN.1","delta":"I wa"}`,
				` {"event_type":"step_restarted","step":1}`,
				`1.2.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
				`1.2.0-0-n {"event_type":"inference_failed","step":1,"message_id":"RUN.1","failed":1,"reason":"overloaded"}`,
				`1.2.9999-0-k {"event_type":"step_end","step":1}`,
			},
			[]string{
				`1.2.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
				`1.2.0-0-n {"event_type":"inference_failed","step":1,"message_id":"RUN.1","failed":1,"reason":"overloaded"}`,
				`1.2.9999-0-k {"event_type":"step_end","step":1}`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &takes10s{turns: [][]model.Delta{tt.turn, text("ok")}}
				w := newWorld(t, options{agents: spec(t, m, agent.Spec{Stop: []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, Retry: agent.Retry{MaxRetries: new(0)}})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var live, late []string
				w.finish(t, key, func(e core.Event) error {
					live = append(live, eventLine(t, receipt.RunID, e))
					return nil
				})
				record := w.runRecord(t, receipt.RunID)
				entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
				if err != nil {
					t.Fatal(err)
				}
				replayer := history.NewReplayer(record.Run, func(e core.Event) error {
					late = append(late, eventLine(t, receipt.RunID, e))
					return nil
				})
				for _, e := range entries {
					if err := replayer.Add(e); err != nil {
						t.Fatal(err)
					}
				}
				if tt.late == nil {
					tt.late = tt.live
				}
				if diff := cmp.Diff(tt.live, live[1:1+len(tt.live)]); diff != "" {
					t.Errorf("live (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.late, late[1:1+len(tt.late)]); diff != "" {
					t.Errorf("late (-want +got):\n%s", diff)
				}
				if live, late := live[1+len(tt.live)], late[1+len(tt.late)]; live != late {
					t.Errorf("the next step begins with %s live, and with %s late", live, late)
				}
			})
		})
	}
}

// Without consecutive_errors, and where another try is in vain, a failure of the model
// ends the run.
func TestFailuresThatEndTheRun(t *testing.T) {
	tolerant := []agent.StopSpec{{Type: "consecutive_errors", Max: 5}}
	tests := []struct {
		name    string
		stop    []agent.StopSpec
		failure error
		end     string
	}{
		{"no policy", []agent.StopSpec{{Type: "token_budget", MaxTotal: 5}}, &model.Error{Kind: model.KindInvalid, Message: "10.0.0.7"}, `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"a pause of hours", tolerant, &model.Error{Kind: model.KindQuota, Message: "10.0.0.7", RetryAfter: time.Hour}, `done 5 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 5, the limit is 5"} ""`},
		{"a pause of hours, for a failure that passes", tolerant, &model.Error{Kind: model.KindRateLimited, Message: "10.0.0.7", RetryAfter: time.Hour}, `done 0 {"type":"error","code":"rate_limited","detail":"the provider asks for a pause of 1h0m0s, at most 5m0s are waited"} ""`},
		{"a permanent one", tolerant, &model.Error{Kind: model.KindInvalid, Message: "10.0.0.7"}, `done 5 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 5, the limit is 5"} ""`},
		{"an adapter that panics", tolerant, nil, `done 5 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 5, the limit is 5"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := modelFunc(func(context.Context, model.Request) iter.Seq2[model.Delta, error] {
					return func(yield func(model.Delta, error) bool) {
						if tt.failure == nil {
							panic("10.0.0.7")
						}
						yield(model.Delta{}, tt.failure)
					}
				})
				w := newWorld(t, options{agents: spec(t, m, agent.Spec{Stop: tt.stop})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

// A policy is not told that a run has begun in 1970 where its record does not say when.
func TestAPolicyOfARunWhoseBeginningIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []bool
		o := options{stop: []agent.StopPolicy{agent.StopFunc(func(v agent.StopView) *core.Termination {
			saw = append(saw, v.StartedAt.IsZero())
			return nil
		})}}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		lost := w.runRecord(t, receipt.RunID)
		lost.StartedAt = 0
		payload, err := thread.Records{}.EncodeRun(&lost)
		if err != nil {
			t.Fatal(err)
		}
		before := w.record(t, recordname.Run(receipt.RunID))
		before.Payload = payload
		w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
			if name == before.Name {
				return before, true, nil
			}
			return w.store.Backend.Get(ctx, key, name)
		}
		w.stepper = w.other(t, o)
		w.step(t, key)
		if diff := cmp.Diff([]bool{false, true}, saw); diff != "" {
			t.Errorf("without a beginning (-want +got):\n%s", diff)
		}
	})
}
