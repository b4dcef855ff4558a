package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/tool"
)

// obeys is a model that makes the calls that the last user message has, one a line, those
// of several turns parted by a line "then", and in the end says "ok". It notes which tools
// it is shown.
type obeys struct{ shown []string }

func (o *obeys) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	o.shown = nil
	for _, t := range r.Tools {
		o.shown = append(o.shown, t.Name)
	}
	return func(yield func(model.Delta, error) bool) {
		turn, asked := 0, len(r.Messages)-1
		for ; r.Messages[asked].Role != core.RoleUser; asked-- {
			if r.Messages[asked].Role == core.RoleAssistant {
				turn++
			}
		}
		turns := strings.Split(r.Messages[asked].Text(), "\nthen\n")
		if turn == len(turns) {
			_ = yield(model.Delta{Type: model.DeltaText, Text: "ok"}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
			return
		}
		for i, line := range strings.Split(turns[turn], "\n") {
			name, arguments, _ := strings.Cut(line, " ")
			_ = yield(model.Delta{Type: model.DeltaToolStart, Index: i, Name: name}, nil) &&
				yield(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: arguments}, nil)
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

// world is a runtime with the agents a and b, which have the same rules, and tools that
// note when they run.
type world struct {
	*host.Host
	t      *testing.T
	model  *obeys
	mu     sync.Mutex
	did    []string
	result host.Result
}

// options are what a test changes of its world.
type options struct {
	rules   string // the section of both agents
	mode    agent.ExecutionMode
	tools   []tool.Tool
	plugins []plugin.Plugin
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, model: &obeys{}}
	parts := agent.Parts{
		Models:  map[string]agent.ModelBinding{"m": {Model: w.model}},
		Tools:   append([]tool.Tool{w.tool("run"), w.tool("look")}, o.tools...),
		Plugins: append([]plugin.Plugin{permission.Plugin{}}, o.plugins...),
	}
	for _, id := range []string{"a", "b"} {
		spec := agent.Spec{ID: id, Model: "m", Plugins: []string{"permission"}, ExecutionMode: o.mode, Sections: map[string]json.RawMessage{"permission": json.RawMessage(o.rules)}}
		for _, p := range o.plugins {
			spec.Plugins = append(spec.Plugins, p.ID())
		}
		parts.Specs = append(parts.Specs, spec)
	}
	r, err := host.New(host.Options{Agents: parts})
	if err != nil {
		t.Fatal(err)
	}
	w.Host = r
	return w
}

// tool returns a tool that takes any arguments and notes that it ran.
func (w *world) tool(name string) tool.Tool {
	return noting(name, func(c tool.Call) (tool.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.did = append(w.did, name+" "+string(c.Arguments))
		return tool.NewResult("done"), nil
	})
}

func noting(name string, run func(tool.Call) (tool.Result, error)) tool.Tool {
	return toolFunc{tool.Spec{Name: name}, run}
}

type toolFunc struct {
	spec tool.Spec
	run  func(tool.Call) (tool.Result, error)
}

func (f toolFunc) Spec() tool.Spec             { return f.spec }
func (f toolFunc) Check(json.RawMessage) error { return nil }
func (f toolFunc) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return f.run(c)
}

// says sends the calls to an agent on the thread of the world, in a run of their own, and
// returns what came of it.
func (w *world) says(agentID string, calls ...string) string {
	w.t.Helper()
	s := w.result.Next(strings.Join(calls, "\n"))
	if s.Thread.Thread == "" {
		s.Thread.Thread = "t"
	}
	s.Opening.AgentID = agentID
	return w.came(w.Play(w.t.Context(), s, nil, nil))
}

// decides takes the decision on each ticket that is open.
func (w *world) decides(d core.Decision) string {
	w.t.Helper()
	var all []mailbox.Deciding
	for _, k := range w.result.Tickets {
		all = append(all, mailbox.Deciding{Target: k.Suspension.ID, Decision: d})
	}
	return w.resumes(all...)
}

// resumes takes decisions on the run of the world, and returns what came of it.
func (w *world) resumes(all ...mailbox.Deciding) string {
	w.t.Helper()
	id, runID := core.Identity{Tenant: host.LocalTenant}, w.result.Run.ID
	for _, d := range all {
		if _, err := w.Decide(w.t.Context(), id, runID, d); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.came(w.Await(w.t.Context(), id, runID))
}

// came is what came of a run: how it ended, or what it asks about, and the tools that
// ran since the last look.
func (w *world) came(r host.Result, err error) string {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.result = r
	parts := []string{string(r.Termination.Type)}
	if r.Termination.Detail != "" {
		parts = append(parts, r.Termination.Detail)
	}
	for _, k := range r.Tickets {
		parts = append(parts, fmt.Sprintf("asks %s %s", k.Tool, k.Arguments))
	}
	slices.Sort(w.did) // calls may have run side by side
	for _, did := range w.did {
		parts = append(parts, "did "+did)
	}
	w.did = nil
	return strings.Join(parts, "; ")
}

// results are those of the last run's calls.
func (w *world) results() (all []string) {
	for _, m := range w.result.Messages {
		if m.ToolResult != nil {
			all = append(all, string(m.ToolResult.Status)+": "+m.ToolResult.Text())
		}
	}
	return all
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// replace puts a value where a text has %.
func replace(text, value string) string { return strings.ReplaceAll(text, "%", value) }

// What a person says.
var (
	yes         = core.Decision{Action: core.DecisionResume}
	yesForRun   = core.Decision{Action: core.DecisionResume, Remember: core.RememberRun}
	yesForGood  = core.Decision{Action: core.DecisionResume, Remember: core.RememberThread}
	yesToRule   = core.Decision{Action: core.DecisionResume, Remember: core.RememberThread, RememberAs: core.RememberRule}
	yesThisOnce = core.Decision{Action: core.DecisionResume, Remember: core.RememberOnce}
	no          = core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":false}`)}
	noForGood   = core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":false}`), Remember: core.RememberThread}
	noToRule    = core.Decision{Action: core.DecisionCancel, Reason: "never", Remember: core.RememberThread, RememberAs: core.RememberRule}
)
