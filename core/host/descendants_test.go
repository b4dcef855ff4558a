package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// humming is a model that answers "hum: A B" word by word, one each 700 ms, and otherwise as the
// model that it wraps.
type humming struct{ model.Model }

func (h humming) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if words, ok := strings.CutPrefix(r.Messages[len(r.Messages)-1].Text(), "hum: "); ok {
		return drawl(strings.SplitAfter(words, " ")).Stream(ctx, r)
	}
	return h.Model.Stream(ctx, r)
}

// partsWithDelegates are the parts of a program whose agent boss has the agent helper work on each of the
// prompts, side by side, and then answers.
func partsWithDelegates(parts agent.Parts, prompts ...string) agent.Parts {
	turn := scripted.Turn{}
	for _, prompt := range prompts {
		turn.Calls = append(turn.Calls, scripted.Call("delegate", delegateArguments{Prompt: prompt, Mode: "replay_tool_call"}))
	}
	parts.Models["m"] = agent.ModelBinding{Model: humming{scripted.Rules()}}
	parts.Models["turns"] = agent.ModelBinding{Model: scripted.Turns(turn, scripted.Turn{Text: "All done."})}
	parts.Specs = append(parts.Specs, agent.Spec{ID: "boss", Model: "turns", ExecutionMode: agent.ParallelStreaming})
	return parts
}

// withNap are the parts of withDelegate with the tool nap.
func withNap() agent.Parts {
	parts := withDelegate()
	parts.Tools = append(parts.Tools, nap())
	return parts
}

// family prints what a stream shows of child runs, and the calls and the end of its own run.
type family struct {
	began time.Time
	names map[core.ID]string // of child runs: the calls that lead to them
	calls []string           // of the run, in their order
	lines []string
	last  core.Event
	child map[string]core.Event // the last event of a child's waiting call
}

func newFamily() *family {
	return &family{began: time.Now(), names: map[core.ID]string{}, child: map[string]core.Event{}}
}

// sink is the listener.
func (f *family) sink(e core.Event) error {
	f.last = e
	line := ""
	switch {
	case e.ActivityType == core.ActivityAgentRun:
		line = f.progress(e)
	case e.Type == core.EventToolCallSuspended, e.Type == core.EventToolCallResumed, e.Type == core.EventToolCallDone:
		line = fmt.Sprint(e.Type, " of call ", slices.Index(f.calls, e.CallID)+1)
		if e.Child != nil {
			f.child[string(e.Type)] = e
			line = fmt.Sprintf("%s of %s: %s", e.Type, f.names[e.Child.RunID], e.Name)
		}
	case e.Type == core.EventRunFinish, e.Type == core.EventRunYield:
		line = string(e.Type)
		if e.Termination != nil {
			line += " " + string(e.Termination.Type)
		}
	case e.Type == core.EventToolCallStart:
		f.calls = append(f.calls, e.CallID)
		return nil
	default:
		return nil
	}
	f.lines = append(f.lines, fmt.Sprintf("%.1fs %s", time.Since(f.began).Seconds(), line))
	return nil
}

// progress prints an activity of a child run.
func (f *family) progress(e core.Event) string {
	var p core.ChildProgress
	if err := json.Unmarshal(e.Content, &p); err != nil {
		return err.Error()
	}
	name := fmt.Sprint("call ", slices.Index(f.calls, e.CallID)+1)
	if above, ok := f.names[p.Parent]; ok {
		name = above + "'s"
	}
	f.names[p.RunID] = name
	if e.MessageID != "agent-run:"+p.RunID.String() || *e.Child != p.ChildRun || !e.Replace || e.Position != "" || e.Step != 0 || p.ParentCall == "" {
		return fmt.Sprintf("odd activity %+v of %+v", e, p)
	}
	line := fmt.Sprintf("%s %s %s, %d steps", name, p.AgentID, p.Status, p.Steps)
	if p.Text != "" {
		line += fmt.Sprintf(", says %q", p.Text)
	}
	if p.Tools != nil {
		line += fmt.Sprint(", runs ", p.Tools)
	}
	if p.Termination != nil {
		line += ", " + string(p.Termination.Type)
	}
	return line
}

// stable are the lines without what depends on the scheduler: the order of lines of the same
// time, and updates of a child run that another one of the same time replaces.
func (f *family) stable() (lines []string) {
	kept := func(i int) bool {
		at, rest, _ := strings.Cut(f.lines[i], " ")
		who, _, progress := strings.Cut(rest, " helper ")
		return !progress || !slices.ContainsFunc(f.lines[i+1:], func(other string) bool { return strings.HasPrefix(other, at+" "+who+" helper ") })
	}
	for i, line := range f.lines {
		if kept(i) {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines[:len(lines)-1], func(a, b string) int { // the last is the end
		if d := len(a[:strings.Index(a, "s ")]) - len(b[:strings.Index(b, "s ")]); d != 0 { // 10.0s comes after 9.9s
			return d
		}
		return strings.Compare(a, b)
	})
	return lines
}

// A program's stream shows what its child runs do.
func TestAStreamShowsItsChildRuns(t *testing.T) {
	for _, test := range []struct {
		name    string
		prompts []string
		want    []string
	}{
		{"one speaks", []string{"hum: one two three"}, []string{
			"0.0s call 1 helper running, 0 steps", "0.0s tool_call_suspended of call 1",
			`1.0s call 1 helper running, 0 steps, says "one "`,
			`1.5s call 1 helper running, 0 steps, says "one two "`,
			`2.1s call 1 helper done, 1 steps, says "one two three", natural_end`,
			"2.1s tool_call_done of call 1", "2.1s tool_call_resumed of call 1", "2.1s run_finish natural_end",
		}},
		{"one waits for a time", []string{"call: nap"}, []string{
			"0.0s call 1 helper waiting, 0 steps", "0.0s tool_call_suspended of call 1",
			`10.0s call 1 helper done, 2 steps, says "The result of nap: woken after 10s", natural_end`,
			"10.0s tool_call_done of call 1", "10.0s tool_call_resumed of call 1", "10.0s run_finish natural_end",
		}},
		{"one asks a person", []string{"approve: it", "echo: hi"}, []string{
			"0.0s call 1 helper waiting, 0 steps",
			`0.0s call 2 helper done, 2 steps, says "Echo: hi", natural_end`,
			"0.0s tool_call_done of call 2", "0.0s tool_call_resumed of call 2",
			"0.0s tool_call_suspended of call 1", "0.0s tool_call_suspended of call 1: danger", "0.0s tool_call_suspended of call 2",
			"0.0s run_finish suspended",
		}},
		{"a child's child", []string{`call: delegate {"prompt":"hum: one two","mode":"replay_tool_call"}`}, []string{
			"0.0s call 1 helper waiting, 0 steps", "0.0s call 1's helper running, 0 steps", "0.0s tool_call_suspended of call 1",
			`1.0s call 1's helper running, 0 steps, says "one "`,
			`1.4s call 1 helper done, 2 steps, says "The result of delegate: natural_end after 1: one two", natural_end`,
			`1.4s call 1's helper done, 1 steps, says "one two", natural_end`,
			"1.4s tool_call_done of call 1", "1.4s tool_call_resumed of call 1", "1.4s run_finish natural_end",
		}},
		{"a child's child asks", []string{`call: delegate {"prompt":"ask: why","mode":"replay_tool_call"}`}, []string{
			"0.0s call 1 helper waiting, 0 steps", "0.0s call 1's helper waiting, 0 steps",
			"0.0s tool_call_suspended of call 1", "0.0s tool_call_suspended of call 1's: ask_user",
			"0.0s run_finish suspended",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSolo(t, partsWithDelegates(withNap(), test.prompts...))
				got := newFamily()
				for e, err := range r.Events(t.Context(), "boss", "go") {
					if err != nil {
						t.Fatal(err)
					}
					_ = got.sink(e)
				}
				if diff := cmp.Diff(test.want, got.stable()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
