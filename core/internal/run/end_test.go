package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
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
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// Tools and plugins of the table below.
var (
	fatal = toolFunc{name: "fatal", run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, tool.Fatal(errors.New("the credential was revoked"))
	}}
	panics = toolFunc{name: "panics", run: func(context.Context, tool.Call) (tool.Result, error) { panic("boom") }}
	fails  = toolFunc{name: "fails", run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("no such file")
	}}
	stray = toolFunc{name: "stray", run: func(context.Context, tool.Call) (tool.Result, error) {
		r := tool.NewResult("done")
		r.Command.Batch.Mutations = []state.Mutation{{Key: "nobody's", Update: json.RawMessage("1")}}
		return r, nil
	}}
)

func gates(verdict func(c plugin.GateCall) (plugin.Verdict, error)) plugin.Plugin {
	return pluginFunc{"gates", func(r *plugin.Registrar) {
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) { return verdict(c) })
	}}
}

func hooks(phase core.Phase, h plugin.Hook[plugin.Context]) plugin.Plugin {
	return pluginFunc{"hooks", func(r *plugin.Registrar) { r.Hook(phase, h) }}
}

// blockB blocks the call of echo with the text b.
func blockB(c plugin.GateCall) (plugin.Verdict, error) {
	if string(c.Call.Arguments) == `{"text":"b"}` {
		return plugin.Block("not b"), nil
	}
	return plugin.Allow, nil
}

// stopAtOnce stops at every step; its verdict has no type of its own.
var stopAtOnce = agent.StopFunc(func(agent.StopView) *core.Termination { return &core.Termination{Code: "test"} })

func many(n int) (pairs []string) {
	for range n {
		pairs = append(pairs, "echo", `{"text":"x"}`)
	}
	return pairs
}

func TestRunEnds(t *testing.T) {
	tests := []struct {
		name    string
		text    string
		options options
		log     []string
		end     string
	}{
		{
			name: "natural", text: "hi",
			log: []string{"user: hi", "assistant: You said: hi"},
			end: `done 1 {"type":"natural_end"} "You said: hi"`,
		},
		{
			name: "parallel calls in call order", text: "parallel: a, b",
			log: []string{
				"user: parallel: a, b", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`,
				`tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b",
			},
			end: `done 2 {"type":"natural_end"} "Echo: a, b"`,
		},
		{
			name: "a permanent model error", text: "fail",
			log: []string{"user: fail"},
			end: `done 0 {"type":"error","code":"model","detail":"scripted model failure"} ""`,
		},
		{
			name: "a model error after deltas", text: "hi",
			options: options{model: replies([]model.Delta{{Type: model.DeltaText, Text: "half"}, {Text: "broken pipe"}})},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
		},
		{
			name: "a model error in the second step", text: "hi",
			options: options{model: replies(calls("echo", `{"text":"a"}`), []model.Delta{{Text: "broken pipe"}})},
			log:     []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`},
			end:     `done 1 {"type":"error","code":"model","detail":"the model failed"} ""`,
		},
		{
			name: "a stream that always breaks off", text: "hi",
			options: options{model: replies([]model.Delta{{Type: model.DeltaText, Text: "half"}})},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
		},
		{
			name: "deltas after the stop", text: "hi",
			options: options{model: replies(append(text("a"), model.Delta{Type: model.DeltaText, Text: "b"}))},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
		},
		{
			name: "arguments of a call that never started", text: "hi",
			options: options{model: replies([]model.Delta{{Type: model.DeltaToolArgument, Index: 3, Text: "{}"}})},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
		},
		{
			name: "a model that panics", text: "hi",
			options: options{model: modelFunc(func(context.Context, model.Request) iter.Seq2[model.Delta, error] { panic("boom") })},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"model","detail":"the model adapter panicked"} ""`,
		},
		{
			name: "32 calls in one turn", text: "hi",
			options: options{model: replies(calls(many(32)...), text("ok"))},
			log: append(append([]string{"user: hi", "assistant: " + strings.Repeat(`[echo {"text":"x"}]`, 32)},
				strings.Split(strings.TrimSpace(strings.Repeat("tool: {\"text\":\"x\"}\n", 32)), "\n")...), "assistant: ok"),
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "33 calls in one turn", text: "hi",
			options: options{model: replies(calls(many(33)...))},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"too_many_calls","detail":"the model asked for 33 tool calls in one turn, at most 32 are allowed"} ""`,
		},
		{
			name: "calls that fail go back to the model", text: "hi",
			options: options{
				model: replies(calls("none", "{}", "panics", "{}", "fails", "{}", "echo", `{"text":`, "echo", `{"text":7}`, "echo", "", "stray", "{}"), text("ok")),
				tools: []tool.Tool{panics, fails, stray},
			},
			log: []string{
				"user: hi",
				`assistant: [none {}][panics {}][fails {}][echo "{\"text\":"][echo {"text":7}][echo {}][stray {}]`,
				`tool: tool "none" not found`,
				"tool: execution failed: the tool panicked",
				"tool: execution failed: no such file",
				"tool: invalid arguments: the arguments: got string, want object",
				`tool: invalid arguments: property "text": got integer, want string`,
				`tool: invalid arguments: property "text" is missing`,
				`tool: execution failed: unknown state key "nobody's"`,
				"assistant: ok",
			},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "a fatal tool", text: "hi",
			options: options{model: replies(calls("fatal", "{}")), tools: []tool.Tool{fatal}},
			log:     []string{"user: hi", "assistant: [fatal {}]", "tool: execution failed: the tool ended the run"},
			end:     `done 1 {"type":"error","code":"tool","detail":"call call_0 of tool fatal: it ended the run with an error"} ""`,
		},
		{
			name: "a stop policy", text: "parallel: a, b",
			options: options{stop: []agent.StopPolicy{stopAtOnce}},
			log: []string{
				"user: parallel: a, b", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`,
				"tool: not executed: test", "tool: not executed: test",
			},
			end: `done 1 {"type":"stopped","code":"test"} ""`,
		},
		{
			name: "a gate that blocks", text: "parallel: a, b, c",
			options: options{plugins: []plugin.Plugin{gates(blockB)}},
			log: []string{
				"user: parallel: a, b, c", `assistant: [echo {"text":"a"}][echo {"text":"b"}][echo {"text":"c"}]`,
				`tool: {"text":"a"}`, "tool: blocked: not b", "tool: not executed: an earlier call was blocked",
			},
			end: `done 1 {"type":"blocked","detail":"not b"} ""`,
		},
		{
			name: "a gate that sets the result", text: "echo: a",
			options: options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
				return plugin.SetResult(core.ToolResult{Message: "cached"}), nil
			})}},
			log: []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, "tool: cached", "assistant: Echo: a"},
			end: `done 2 {"type":"natural_end"} "Echo: a"`,
		},
		{
			name: "a gate that never sees invalid calls", text: "hi",
			options: options{model: replies(calls("none", "{}", "echo", "[]"), text("ok")), plugins: []plugin.Plugin{gates(
				func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Block(""), nil })}},
			log: []string{
				"user: hi", "assistant: [none {}][echo []]", `tool: tool "none" not found`,
				"tool: invalid arguments: the arguments: got array, want object", "assistant: ok",
			},
			end: `done 2 {"type":"natural_end"} "ok"`,
		},
		{
			name: "a gate that panics", text: "echo: a",
			options: options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) { panic("boom") })}},
			log:     []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, "tool: no result: the run was ended first (plugin)"},
			end:     `done 1 {"type":"error","code":"plugin","detail":"gate of call call_0: plugin \"gates\" panicked"} ""`,
		},
		{
			name: "a hook that panics", text: "hi",
			options: options{plugins: []plugin.Plugin{hooks(core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) { panic("boom") })}},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"plugin","detail":"phase step_end: plugin \"hooks\" panicked"} ""`,
		},
		{
			name: "an agent that is not there", text: "hi",
			options: options{agents: gone{}},
			log:     []string{"user: hi"},
			end:     `done 0 {"type":"error","code":"resolution","detail":"the agent of the run is not there any more, or cannot be used"} ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, tt.text, mailbox.ModeQueue)
				var got finals
				w.finish(t, key, got.sink)
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				end := strings.ReplaceAll(w.end(t, key, receipt), shortCallID(receipt.RunID), "call_0")
				if diff := cmp.Diff(tt.end, end); diff != "" {
					t.Errorf("end (-want +got):\n%s", diff)
				}
				if got.first != core.EventRunStart || got.finishes != 1 || got.last != core.EventRunFinish || got.finished != receipt.RunID {
					t.Errorf("the stream begins with %s and ends with %s, and has %d run_finish, of run %s", got.first, got.last, got.finishes, got.finished)
				}
				if head := w.head(t, key); head.Busy(0) || head.Claim.Fence != 0 {
					t.Errorf("the head is left as %+v", head)
				}
			})
		})
	}
}

func shortCallID(id core.ID) string { return "call_" + id.String()[24:] + "_1_0" }

// finals watches how a stream begins and ends.
type finals struct {
	first, last core.EventType
	finishes    int
	finished    core.ID // the run that run_finish names
}

func (f *finals) sink(e core.Event) error {
	if f.first == "" {
		f.first = e.Type
	}
	if f.last = e.Type; e.Type == core.EventRunFinish {
		f.finishes++
		f.finished = e.RunID
	}
	return nil
}

// gone is a registry without agents.
type gone struct{}

func (gone) Resolve(id string) (*registry.Resolved, error) {
	agents, err := registry.New(agent.Parts{})
	if err != nil {
		return nil, err
	}
	return agents.Resolve(id)
}

// limit refuses records of more bytes, as a backend does before it sends them.
func (w *world) limit(bytes int) {
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if len(r.Payload) > bytes {
			return store.ErrTooLarge
		}
		return w.store.Backend.Put(ctx, key, r)
	}
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		for _, r := range c.Records {
			if len(r.Payload) > bytes {
				return store.Outcome{}, store.ErrTooLarge
			}
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
}

func TestResultTooLargeForTheStoreBecomesAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := toolFunc{name: "long", run: func(context.Context, tool.Call) (tool.Result, error) {
			r := tool.Failed(strings.Repeat("x", 70<<10)) // an error result can be too large, too
			return r, nil
		}}
		w := newWorld(t, options{model: replies(calls("long", "{}"), text("ok")), tools: []tool.Tool{long}})
		w.limit(60 << 10)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [long {}]", "tool: result cannot be stored: it is too large", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTurnTooLargeForTheStoreEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inferences := 0
		long := text(strings.Repeat("x", 2000))
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
			inferences++
			return replies(long)(ctx, r)
		})})
		w.limit(1000)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: hi"}, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 0 {"type":"error","code":"too_large"`) || inferences != 1 {
			t.Errorf("the run is %s after %d inferences, want an error too_large after one", got, inferences)
		}
	})
}

// A stop gives every call of its turn a result in the step that comes to it.
func TestStoppedRunEndsInOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{stop: []agent.StopPolicy{stopAtOnce}})
		w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
		if stepped := w.step(t, key); stepped.Outcome != thread.Done {
			t.Errorf("the step is %s, want done", stepped.Outcome)
		}
	})
}

// A run whose record is lost gets another from what is left of it, under which
// it ends.
func TestRecordOfARunWhoseOwnIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{}
		w := newWorld(t, o)
		receipt, sent := w.submit(t, key, "parallel: a, b", mailbox.ModeQueue), time.Now().UnixMilli()
		w.crash(t, commitB)
		w.spoil(t, recordname.Run(receipt.RunID))
		w.stepper = w.other(t, o)
		w.crash(t, 2) // it has begun to close, and no more
		began := core.Run{
			ID: receipt.RunID, ThreadID: "t1", AgentID: "demo", Status: core.RunRunning, Dispatch: receipt.DispatchID,
			Steps: 1, Usage: core.Usage{Input: 3, Output: 2}, CreatedAt: sent, Takeovers: 1, Calls: 2,
		}
		if diff := cmp.Diff(began, w.runRecord(t, receipt.RunID).Run); diff != "" {
			t.Errorf("the record of the closing run (-want +got):\n%s", diff)
		}
	})
}

// Queued input and run records may expire or be lost: the thread must get free.
func TestRunWithLostRecordsEnds(t *testing.T) {
	tests := []struct{ name, lost, end string }{
		{"input", "Q#", `done 0 {"type":"error","code":"corrupt"`},
		{"run record", "R#", `done 1 {"type":"error","code":"corrupt"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{})
				receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
				if tt.lost == "R#" {
					if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
						t.Fatal(err)
					}
					w.stepper = w.other(t, options{})
				}
				w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if strings.HasPrefix(name, tt.lost) {
						return store.Record{}, false, nil
					}
					return w.store.Backend.Get(ctx, key, name)
				}
				w.finish(t, key, nil)
				w.store.OnGet = nil
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, tt.end) {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				second := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, second); got != `done 1 {"type":"natural_end"} "You said: hi"` {
					t.Errorf("the next run is %s", got)
				}
			})
		})
	}
}

// The head has a limit of its own, and an error of its own: another step of the
// run would come to the same head.
func TestTurnTooLargeForTheHeadEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inferences := 0
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
			inferences++
			return replies(text("ok"))(ctx, r)
		})})
		refused := false
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if slices.ContainsFunc(c.Records, func(r store.Record) bool { return r.Kind() == store.KindLog }) && !refused {
				refused = true
				return store.Outcome{}, thread.ErrTooLarge
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 0 {"type":"error","code":"too_large"`) || inferences != 1 {
			t.Errorf("the run is %s after %d inferences, want an error too_large after one", got, inferences)
		}
	})
}
