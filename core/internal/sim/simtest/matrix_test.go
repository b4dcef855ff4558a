package simtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

var pairs = flag.Bool("matrix.pairs", false, "play the crash matrix with two faults in a world")

// matrixParts are agents of the three modes. Calls of echo wait for a person whose text
// begins with "wait", and each call of pay for its approval; linger takes so many minutes, or until its context ends; delegate
// leaves a prompt to a run on a thread that is kept; each phase leaves a trace in the state.
func matrixParts() (agent.Parts, error) {
	type arguments struct {
		Text string `json:"text"`
	}
	echo := tool.New(tool.Spec{Name: "echo", ReadOnly: true}, func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
		return tool.NewResult(a.Text).With(trace.Update("echo " + a.Text)), nil
	})
	once := tool.New(tool.Spec{Name: "once", AtMostOnce: true}, func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
		return tool.NewResult(a.Text), nil
	})
	kept := tool.New(tool.Spec{Name: "kept"}, func(ctx context.Context, call tool.Call, a arguments) (json.RawMessage, error) {
		return call.Once(ctx, "part", func(context.Context) (json.RawMessage, error) { return json.RawMessage(`"` + a.Text + `"`), nil })
	})
	pay := tool.New(tool.Spec{Name: "pay", Approval: "Pay?"}, func(_ context.Context, call tool.Call, a arguments) (string, error) {
		_ = call.Key()
		return a.Text, nil
	})
	linger := tool.New(tool.Spec{Name: "linger"}, func(ctx context.Context, call tool.Call, a struct {
		Minutes int `json:"minutes"`
	}) (string, error) {
		_ = call.Key()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(time.Duration(a.Minutes) * time.Minute):
			return "lingered", nil
		}
	})
	delegate := tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, a struct {
		Prompt string `json:"prompt"`
	}) (tool.Result, error) {
		if end, ok := call.ChildEnd(); ok {
			return tool.NewResult(string(end.Termination.Type) + ": " + end.Response), nil
		}
		run, err := call.Start(ctx, tool.Child{Agent: string(agent.Sequential), Kept: "child", Messages: []core.Message{core.UserMessage(a.Prompt)}})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.AwaitChild(run, core.ResumeReplay), nil
	})
	parts := agent.Parts{
		Models:  map[string]agent.ModelBinding{"m": {Model: model.None{}}},
		Tools:   []tool.Tool{echo, once, kept, pay, linger, delegate},
		Plugins: []plugin.Plugin{tracer{}},
	}
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming} {
		parts.Specs = append(parts.Specs, agent.Spec{ID: string(mode), Model: "m", ExecutionMode: mode, Plugins: []string{"tracer"}})
	}
	parts.Default = string(agent.Sequential)
	return parts, nil
}

var trace = state.List[string]("trace", state.ScopeThread)

// tracer notes each phase that it is asked at.
type tracer struct{}

// ID implements plugin.Plugin.
func (tracer) ID() string { return "tracer" }

// Register implements plugin.Plugin.
func (tracer) Register(r *plugin.Registrar) error {
	r.Key(trace)
	for _, phase := range []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
		core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd} {
		r.Hook(phase, func(_ context.Context, c plugin.Context) (state.Command, error) {
			return trace.Update(fmt.Sprint(c.Phase, " ", c.Step)), nil
		})
	}
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		var a struct{ Text string }
		if c.Call.Name != "echo" || json.Unmarshal(c.Call.Arguments, &a) != nil || !strings.HasPrefix(a.Text, "wait") {
			return plugin.Allow, nil
		}
		return plugin.Suspend(core.TicketRequest{Action: "tool:echo"}), nil
	})
	return nil
}

// cell is a scenario of the matrix and what it comes to.
type cell struct {
	Scenario
	log        []string // in a world without faults
	ends       string   // of its runs
	inferences int
	executions map[string]int
	children   []string // stories of the threads that calls have begun, in every world
	// others are logs and ends that a fault may bring about besides; one a line, see
	// story. Of a scenario that does not vary there is none.
	others []string
	// more is how many inferences, and runs of a tool, a fault may cost; 0: 1.
	more int
	// passings is how many passings of a point are struck, where that is less than
	// elsewhere; 0: as many.
	passings int
}

// story is the end of a world in one line.
func story(e Ended) string { return strings.Join(e.Lines(), " | ") + " => " + ends(e) }

func ends(e Ended) string {
	var all []string
	for _, end := range e.Runs {
		text := string(end.Type)
		if end.Code != "" {
			text += " " + end.Code
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func people(mode agent.ExecutionMode, name string, acts ...Act) Scenario {
	return Scenario{Name: string(mode) + " " + name, Agent: string(mode), Person: append([]Act{Say("parallel: a, wait b, wait c")}, acts...)}
}

// What the runtime says of calls whose run was ended.
const (
	unsure = "tool: outcome unknown: the run was ended while the tool may have run"
	unrun  = "tool: no result: the run was ended first (cancelled)"
	// ... and of one whose process was gone.
	twiceNever = "tool: outcome unknown: the tool may have run, and it must not run twice"
)

const asked = `assistant: [echo {"text":"a"}][echo {"text":"wait b"}][echo {"text":"wait c"}]`

const cutOff = "user: parallel: a, wait b, wait c | " + asked + ` | tool: "a" | `

// matrix is every scenario.
func matrix() (cells []cell) {
	cells = []cell{
		{
			Scenario: Scenario{Name: "text", Person: []Act{Say("hello")}},
			log:      []string{"user: hello", "assistant: You said: hello"}, ends: "natural_end", inferences: 1,
		},
		{
			Scenario: Scenario{Name: "two tools", Person: []Act{Say(`call: kept {"text":"a"}`), Say(`call: echo {"text":"b"}`)}},
			log: []string{
				`user: call: kept {"text":"a"}`, `assistant: [kept {"text":"a"}]`, `tool: "a"`, "assistant: The result of kept: a",
				`user: call: echo {"text":"b"}`, `assistant: [echo {"text":"b"}]`, `tool: "b"`, "assistant: The result of echo: b",
			},
			ends: "natural_end, natural_end", inferences: 4, executions: map[string]int{"kept": 1, "echo": 1},
		},
		{
			Scenario: Scenario{Name: "at most once", Person: []Act{Say(`call: once {"text":"a"}`)}, Varies: true},
			log:      []string{`user: call: once {"text":"a"}`, `assistant: [once {"text":"a"}]`, `tool: "a"`, "assistant: The result of once: a"},
			ends:     "natural_end", inferences: 2, executions: map[string]int{"once": 1},
			others: []string{ // the process was gone between the mark and the result
				`user: call: once {"text":"a"} | assistant: [once {"text":"a"}] | ` + twiceNever + ` | assistant: The result of once: ` + twiceNever[len("tool: "):] + ` => natural_end`,
			},
		},
		{
			Scenario: Scenario{Name: "failure", Person: []Act{Say("fail")}},
			log:      []string{"user: fail"}, ends: "error model", inferences: 1,
		},
		{
			Scenario: Scenario{Name: "cancel", Person: []Act{Say(`call: linger {"minutes":60}`), Cancel().While("linger")}, Varies: true},
			log:      []string{`user: call: linger {"minutes":60}`, `assistant: [linger {"minutes":60}]`, unsure},
			ends:     "cancelled", inferences: 1, executions: map[string]int{"linger": 1},
		},
		{
			Scenario: Scenario{Name: "interrupt", Person: []Act{Say(`call: linger {"minutes":60}`), Interrupt("hello").While("linger")}, Varies: true},
			log:      []string{`user: call: linger {"minutes":60}`, `assistant: [linger {"minutes":60}]`, unsure, "user: hello", "assistant: You said: hello"},
			ends:     "superseded, natural_end", inferences: 2, executions: map[string]int{"linger": 1},
		},
		{
			Scenario: Scenario{Name: "steer", Person: []Act{Say(`call: linger {"minutes":5}`), Steer("hello").While("linger")}, Varies: true},
			log:      []string{`user: call: linger {"minutes":5}`, `assistant: [linger {"minutes":5}]`, `tool: "lingered"`, "user: hello", "assistant: You said: hello"},
			ends:     "natural_end", inferences: 2, executions: map[string]int{"linger": 1},
		},
		{
			Scenario: Scenario{Name: "regenerate", Person: []Act{Say(`call: echo {"text":"a"}`), {kind: actSay, text: "hello", from: 1}}},
			log: []string{ // what was taken back stays in the log
				`user: call: echo {"text":"a"}`, `assistant: [echo {"text":"a"}]`, `tool: "a"`, "assistant: The result of echo: a",
				"user: hello", "assistant: You said: hello",
			},
			ends: "natural_end, natural_end", inferences: 3, executions: map[string]int{"echo": 1},
		},
		{
			Scenario: Scenario{Name: "dead letter", Person: []Act{Say(`call: echo {"text":"a"}`)}, poison: "echo"},
			log:      []string{`user: call: echo {"text":"a"}`, `assistant: [echo {"text":"a"}]`, unsure},
			ends:     "error dead_letter", inferences: 1, executions: map[string]int{"echo": 6},
		},
	}
	for _, mode := range []agent.ExecutionMode{agent.ParallelBatchApproval, agent.ParallelStreaming} {
		cells = append(cells, cell{
			Scenario: Scenario{Name: string(mode), Agent: string(mode), Person: []Act{Say("parallel: a, b, c")}},
			log: []string{
				"user: parallel: a, b, c", `assistant: [echo {"text":"a"}][echo {"text":"b"}][echo {"text":"c"}]`,
				`tool: "a"`, `tool: "b"`, `tool: "c"`, "assistant: Echo: a, b, c",
			},
			ends: "natural_end", inferences: 2, executions: map[string]int{"echo": 3}, more: 3,
		})
	}
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming} {
		cells = append(cells, cell{
			Scenario: people(mode, "approved", Approve(), Approve()),
			log:      []string{"user: parallel: a, wait b, wait c", asked, `tool: "a"`, `tool: "wait b"`, `tool: "wait c"`, "assistant: Echo: a, wait b, wait c"},
			ends:     "natural_end", inferences: 2, executions: map[string]int{"echo": 3}, more: 2,
		}, cell{
			Scenario: people(mode, "denied", Deny("no"), Approve()),
			log:      []string{"user: parallel: a, wait b, wait c", asked, `tool: "a"`, "tool: denied: no", `tool: "wait c"`, "assistant: Echo: a, wait b, wait c"},
			ends:     "natural_end", inferences: 2, executions: map[string]int{"echo": 2}, more: 2,
		}, cell{
			Scenario: people(mode, "cancelled", Cancel()),
			log:      []string{"user: parallel: a, wait b, wait c", asked, `tool: "a"`, unrun, unrun},
			ends:     "cancelled", inferences: 1, executions: map[string]int{"echo": 1},
			// A claim that ends the run does not know what one that was lost had let through.
			others: []string{cutOff + unsure + " | " + unsure + " => cancelled", cutOff + unsure + " | " + unrun + " => cancelled"},
		})
	}
	return append(append(cells, approvals()...), triggers()...)
}

// approvals are scenarios of a tool that a person must approve. A crash asks nothing twice,
// and loses no answer that is to be remembered.
func approvals() (cells []cell) {
	const said, called = `user: call: pay {"text":"a"}`, `assistant: [pay {"text":"a"}]`
	say := Say(`call: pay {"text":"a"}`)
	forGood := func(a Act) Act { a.remember = core.RememberThread; return a }
	paid := []string{said, called, `tool: "a"`, "assistant: The result of pay: a"}
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming} {
		scenario := func(name string, acts ...Act) Scenario {
			return Scenario{Name: string(mode) + " approval " + name, Agent: string(mode), Person: acts}
		}
		cells = append(cells, cell{
			Scenario: scenario("given", say, Approve()), log: paid,
			ends: "natural_end", inferences: 2, executions: map[string]int{"pay": 1},
		}, cell{
			Scenario: scenario("remembered", say, forGood(Approve()), say), log: slices.Concat(paid, paid),
			ends: "natural_end, natural_end", inferences: 4, executions: map[string]int{"pay": 2},
		}, cell{
			Scenario: scenario("refused for good", say, forGood(Deny("no")), say),
			log: []string{
				said, called, "tool: denied: no", "assistant: The call of pay was denied.",
				said, called, "tool: denied: a person has denied such calls of pay", "assistant: The call of pay was denied.",
			},
			ends: "natural_end, natural_end", inferences: 4, executions: map[string]int{},
		})
	}
	return cells
}

// triggers are scenarios of events and of children. Of an event whose first delivery is
// lost before anything is stored, the second counts.
func triggers() []cell {
	return []cell{
		{
			Scenario: Scenario{Name: "trigger", Varies: true, Person: []Act{
				{kind: actEvent, text: `call: kept {"text":"delivery %d"}`, repeats: 1}, // while it is worked on
				{kind: actEvent, text: `call: kept {"text":"delivery %d"}`},             // when it is over
			}},
			log: []string{
				`user: call: kept {"text":"delivery 1"}`, `assistant: [kept {"text":"delivery 1"}]`, `tool: "delivery 1"`,
				"assistant: The result of kept: delivery 1",
			},
			ends: "natural_end", inferences: 2, executions: map[string]int{"kept": 1},
			others: later(`user: call: kept {"text":"delivery 2"} | assistant: [kept {"text":"delivery 2"}] | tool: "delivery 2"` +
				" | assistant: The result of kept: delivery 2 => natural_end"),
		},
		{
			Scenario: Scenario{Name: "trigger behind a wait", Varies: true, Person: []Act{
				Say(`call: echo {"text":"wait"}`), {kind: actEvent, text: "delivery %d", repeats: 1}, Approve(), {kind: actEvent, text: "delivery %d"},
			}},
			log: []string{ // it answers nobody's question
				`user: call: echo {"text":"wait"}`, `assistant: [echo {"text":"wait"}]`, `tool: "wait"`, "assistant: The result of echo: wait",
				"user: delivery 1", "assistant: You said: delivery 1",
			},
			ends: "natural_end, natural_end", inferences: 3, executions: map[string]int{"echo": 1},
			others: later(`user: call: echo {"text":"wait"} | assistant: [echo {"text":"wait"}] | tool: "wait" | assistant: The result of echo: wait` +
				" | user: delivery 2 | assistant: You said: delivery 2 => natural_end, natural_end"),
		},
		{
			Scenario: Scenario{Name: "child", Person: []Act{Say(`call: delegate {"prompt":"echo: hello"}`)}},
			log: []string{
				`user: call: delegate {"prompt":"echo: hello"}`, `assistant: [delegate {"prompt":"echo: hello"}]`,
				`tool: "natural_end: Echo: hello"`, "assistant: The result of delegate: natural_end: Echo: hello",
			},
			ends: "natural_end", inferences: 4, executions: map[string]int{"delegate": 2, "echo": 1},
			children: []string{`user: echo: hello | assistant: [echo {"text":"hello"}] | tool: "hello" | assistant: Echo: hello => natural_end`},
		},
		{
			Scenario: Scenario{Name: "interrupt without input", Person: []Act{Say(`call: linger {"minutes":60}`), Act{kind: actStop}.While("linger")}, Varies: true},
			log:      []string{`user: call: linger {"minutes":60}`, `assistant: [linger {"minutes":60}]`, unsure},
			ends:     "superseded", inferences: 1, executions: map[string]int{"linger": 1},
			others: []string{`user: call: linger {"minutes":60} | assistant: [linger {"minutes":60}] | tool: no result: the run was ended first (superseded) => superseded`},
		},
		{
			Scenario: Scenario{Name: "delayed", Person: []Act{{kind: actSay, text: "later", delay: 10 * time.Minute}, {kind: actSay, text: "now", hasty: true}}},
			log:      []string{"user: now", "assistant: You said: now", "user: later", "assistant: You said: later"},
			ends:     "natural_end, natural_end", inferences: 2,
		},
		{
			Scenario: Scenario{Name: "delete", Person: []Act{Say(`call: linger {"minutes":60}`), Act{kind: actDelete}.While("linger")}, Varies: true},
			log:      []string{}, inferences: 1, executions: map[string]int{"linger": 1}, // nothing is left
			passings: 3, // of some twenty sweeps until it is erased
		},
	}
}

// later are stories of an event whose first delivery was lost: that of the second, and
// with two faults in a world that of the third.
func later(second string) []string {
	if !*pairs {
		return []string{second}
	}
	return []string{second, strings.ReplaceAll(second, "delivery 2", "delivery 3")}
}

// check holds the end of a world with faults against the cell.
func (c cell) check(e Ended) error {
	want := append([]string{strings.Join(c.log, " | ") + " => " + c.ends}, c.others...)
	if got := story(e); !slices.Contains(want, got) {
		return fmt.Errorf("the end is\n\t%s\nwant\n\t%s", got, strings.Join(want, "\n\tor "))
	}
	var children []string
	for _, child := range e.Children {
		children = append(children, story(child))
	}
	if !slices.Equal(children, c.children) {
		return fmt.Errorf("the children are\n\t%s\nwant\n\t%s", strings.Join(children, "\n\t"), strings.Join(c.children, "\n\t"))
	}
	more := max(c.more, 1)
	if *pairs {
		more *= 2
	}
	if e.Inferences > c.inferences+more {
		return fmt.Errorf("%d inferences, want at most %d", e.Inferences, c.inferences+more)
	}
	for name, n := range e.Executions {
		if n > c.executions[name]+more {
			return fmt.Errorf("tool %s ran %d times, want at most %d", name, n, c.executions[name]+more)
		}
	}
	return nil
}

func TestCrashMatrix(t *testing.T) {
	began := time.Now()
	var worlds atomic.Int64
	t.Cleanup(func() {
		took := time.Since(began)
		t.Logf("%d worlds in %s, %.0f a second", worlds.Load(), took.Round(time.Millisecond), float64(worlds.Load())/took.Seconds())
	})
	for _, c := range matrix() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if raced && (!strings.HasPrefix(c.Name, "parallel") || strings.Contains(c.Name, "approval ")) {
				t.Skip("nothing runs side by side, or the same calls as in another scenario")
			}
			made, err := newCast(func() World { return World{Parts: matrixParts} })
			if err != nil {
				t.Fatal(err)
			}
			clean := newWorld(c.Scenario, made).play(t)
			if diff := cmp.Diff(c.log, clean.ended.Lines()); diff != "" {
				t.Errorf("log without faults (-want +got):\n%s", diff)
			}
			got := fmt.Sprint(ends(clean.ended), clean.ended.Inferences, maps.Clone(clean.ended.Executions))
			if want := fmt.Sprint(c.ends, c.inferences, maps.Clone(c.executions)); got != want {
				t.Errorf("without faults: %s, want %s", got, want)
			}
			if t.Failed() {
				return
			}
			c.Check = c.check
			struck := passings
			if c.passings > 0 {
				struck = min(struck, c.passings)
			}
			u := suite{options: Options{Passings: struck, Seed: 1, Pairs: *pairs}, cast: made, told: map[string]bool{}}
			u.play(t, c.Scenario)
			worlds.Add(int64(u.worlds))
		})
	}
}
