package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// heard is a model that keeps its requests and says the nth list of deltas to the nth
// of them; the last list again to whatever comes after.
type heard struct {
	says     [][]model.Delta
	requests []model.Request
}

func (h *heard) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	h.requests = append(h.requests, request)
	deltas := h.says[min(len(h.requests), len(h.says))-1]
	return func(yield func(model.Delta, error) bool) {
		for _, d := range deltas {
			if d.Type == 0 {
				yield(model.Delta{}, &model.Error{Kind: model.KindInterrupted, Message: d.Text})
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// told is a request in one line for each part of it.
func told(r model.Request) []string {
	lines := []string{"model " + r.Model}
	if r.System != "" {
		lines = append(lines, fmt.Sprintf("prompt %q", r.System))
	}
	for _, m := range r.Messages {
		line := string(m.Role) + " " + m.Text()
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, t.Name)
	}
	lines = append(lines, strings.TrimSpace("tools "+strings.Join(tools, " ")))
	parameters, _ := json.Marshal(struct {
		MaxTokens     int                   `json:",omitzero"`
		Temperature   *float64              `json:",omitzero"`
		TopP          *float64              `json:",omitzero"`
		Effort        model.Effort          `json:",omitzero"`
		StopSequences []string              `json:",omitzero"`
		Format        *model.ResponseFormat `json:",omitzero"`
		Choice        model.ToolChoice      `json:",omitzero"`
		Options       json.RawMessage       `json:",omitempty"`
	}{r.MaxTokens, r.Temperature, r.TopP, r.ReasoningEffort, r.StopSequences, r.ResponseFormat, r.ToolChoice, r.ProviderOptions})
	return append(lines, string(parameters))
}

// demo is the registry of one agent, demo, with the tools echo and look.
func demo(tb testing.TB, m model.Model, s agent.Spec, plugins ...plugin.Plugin) *registry.Registry {
	tb.Helper()
	s.ID, s.Model = "demo", "m"
	for _, p := range plugins {
		s.Plugins = append(s.Plugins, p.ID())
	}
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m, Provider: "p"}},
		Tools: []tool.Tool{echoTool(tb), toolFunc{name: "look", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.NewResult("seen"), nil
		}}},
		Plugins: plugins, Specs: []agent.Spec{s},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return agents
}

// before is a plugin whose hook before the inference returns the command of a step.
func before(command func(step int) state.Command) plugin.Plugin {
	return pluginFunc{"before", func(r *plugin.Registrar) {
		r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) { return command(c.Step), nil })
	}}
}

// What is asked of a request comes to the request of the step, and of no other.
func TestRequestOfAStep(t *testing.T) {
	type message = plugin.ContextMessage
	add := plugin.AddContextMessage.Schedule
	tests := []struct {
		name    string
		spec    agent.Spec
		plugins []plugin.Plugin
		first   []string
		second  []string // behind a call of look
	}{
		{
			name:   "nothing but the model",
			first:  []string{"model small", "user hi", "tools echo look", "{}"},
			second: []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools echo look", "{}"},
		},
		{
			name: "the agent's parameters; a forced choice of tools holds until one was called",
			spec: agent.Spec{
				SystemPrompt: "Be kind.", MaxTokens: 9, Temperature: new(0.5), TopP: new(0.25), StopSequences: []string{"END"},
				ReasoningEffort: model.EffortLow, ResponseFormat: &model.ResponseFormat{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)},
				ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "look"},
			},
			first: []string{
				"model small", `prompt "Be kind."`, "user hi", "tools echo look",
				`{"MaxTokens":9,"Temperature":0.5,"TopP":0.25,"Effort":"low","StopSequences":["END"],"Format":{"name":"f","schema":{"type":"object"}},"Choice":{"mode":"tool","name":"look"}}`,
			},
			second: []string{
				"model small", `prompt "Be kind."`, "user hi", "assistant [look {}]", `tool "seen"`, "tools echo look",
				`{"MaxTokens":9,"Temperature":0.5,"TopP":0.25,"Effort":"low","StopSequences":["END"],"Format":{"name":"f","schema":{"type":"object"}}}`,
			},
		},
		{
			name:   "options of the model's provider, and of no other",
			spec:   agent.Spec{ProviderOptions: map[string]json.RawMessage{"p": json.RawMessage(`{"n":1}`), "q": json.RawMessage(`{"n":2}`)}},
			first:  []string{"model small", "user hi", "tools echo look", `{"Options":{"n":1}}`},
			second: []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools echo look", `{"Options":{"n":1}}`},
		},
		{
			name: "an override of the first step",
			spec: agent.Spec{MaxTokens: 9, ReasoningEffort: model.EffortLow, ToolChoice: model.ToolChoice{Mode: model.ToolNone}},
			plugins: []plugin.Plugin{before(func(step int) state.Command {
				if step > 1 {
					return state.Command{}
				}
				return plugin.SetInferenceOverride.Schedule(model.Override{
					UpstreamModel: "large", MaxTokens: 5, Temperature: new(0.0), TopP: new(1.0), ReasoningEffort: model.EffortBudget(100),
				})
			})},
			first:  []string{"model large", "user hi", "tools echo look", `{"MaxTokens":5,"Temperature":0,"TopP":1,"Effort":{"budget":100},"Choice":{"mode":"none"}}`},
			second: []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools echo look", `{"MaxTokens":9,"Effort":"low","Choice":{"mode":"none"}}`},
		},
		{
			name: "context messages by their target, tools that are hidden",
			spec: agent.Spec{SystemPrompt: "Be kind."},
			plugins: []plugin.Plugin{before(func(step int) state.Command {
				if step > 1 {
					return plugin.ExcludeTool.Schedule("echo")
				}
				return state.Combine(
					add(message{Key: "d", Text: "suffix", Target: plugin.TargetSuffix}), add(message{Key: "c", Text: "talk", Target: plugin.TargetConversation, Role: core.RoleUser}),
					add(message{Key: "b", Text: "session", Target: plugin.TargetSession, Persistent: true}), add(message{Key: "a", Text: "It is noon."}),
					add(message{Key: "e", Text: "Always.", Persistent: true}), add(message{Key: "f", Text: "never", Target: plugin.TargetSuffix, Persistent: true}), add(message{Key: "f"}),
					plugin.IncludeOnlyTools.Schedule([]string{"echo"}),
				)
			})},
			first:  []string{"model small", `prompt "Be kind.\n\nAlways."`, "system session", "user hi", "system It is noon.\n\ntalk\n\nsuffix", "tools echo", "{}"},
			second: []string{"model small", `prompt "Be kind.\n\nAlways."`, "system session", "user hi", "assistant [look {}]", `tool "seen"`, "tools look", "{}"},
		},
		{
			name:    "a tool that is hidden is not chosen",
			spec:    agent.Spec{ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "echo"}},
			plugins: []plugin.Plugin{before(func(int) state.Command { return plugin.ExcludeTool.Schedule("echo") })},
			first:   []string{"model small", "user hi", "tools look", "{}"},
			second:  []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools look", "{}"},
		},
		{
			name:    "where all tools are hidden nothing is chosen",
			spec:    agent.Spec{ToolChoice: model.ToolChoice{Mode: model.ToolRequired}},
			plugins: []plugin.Plugin{before(func(int) state.Command { return plugin.IncludeOnlyTools.Schedule([]string{}) })},
			first:   []string{"model small", "user hi", "tools", "{}"},
			second:  []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools", "{}"},
		},
		{
			name:    "a tool that is not hidden is chosen",
			spec:    agent.Spec{ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "look"}},
			plugins: []plugin.Plugin{before(func(int) state.Command { return plugin.ExcludeTool.Schedule("echo") })},
			first:   []string{"model small", "user hi", "tools look", `{"Choice":{"mode":"tool","name":"look"}}`},
			second:  []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools look", "{}"},
		},
		{
			name:    "a choice of any tool is one of those that are shown",
			spec:    agent.Spec{ToolChoice: model.ToolChoice{Mode: model.ToolRequired}},
			plugins: []plugin.Plugin{before(func(int) state.Command { return plugin.IncludeOnlyTools.Schedule([]string{"look"}) })},
			first:   []string{"model small", "user hi", "tools look", `{"Choice":{"mode":"required"}}`},
			second:  []string{"model small", "user hi", "assistant [look {}]", `tool "seen"`, "tools look", "{}"},
		},
		{
			name: "a prompt of context alone, and what a tool of the step before has asked for",
			plugins: []plugin.Plugin{
				before(func(step int) state.Command {
					return add(message{Key: "a", Text: fmt.Sprint("step ", step), Persistent: true})
				}),
				pluginFunc{"behind", func(r *plugin.Registrar) {
					r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
						return add(message{Key: "b", Text: "it said " + c.Result.Text(), Target: plugin.TargetSuffix}), nil
					})
				}},
			},
			first:  []string{"model small", `prompt "step 1"`, "user hi", "tools echo look", "{}"},
			second: []string{"model small", `prompt "step 2"`, "user hi", "assistant [look {}]", `tool "seen"`, `system it said "seen"`, "tools echo look", "{}"},
		},
		{
			name: "transforms come last, in order, and write into nobody's slices",
			plugins: []plugin.Plugin{
				before(func(int) state.Command { return add(message{Key: "a", Text: "context", Persistent: true}) }),
				pluginFunc{"one", func(r *plugin.Registrar) {
					r.Transform(func(_ context.Context, _ plugin.BeforeInference, request *model.Request) error {
						request.System += ", one"
						return nil
					})
				}},
				pluginFunc{"two", func(r *plugin.Registrar) {
					r.Transform(func(_ context.Context, c plugin.BeforeInference, request *model.Request) error {
						request.System += fmt.Sprint(", two of step ", c.Step)
						request.Messages = append(request.Messages, core.UserMessage("last"))
						return nil
					})
				}},
			},
			first:  []string{"model small", `prompt "context, one, two of step 1"`, "user hi", "user last", "tools echo look", "{}"},
			second: []string{"model small", `prompt "context, one, two of step 2"`, "user hi", "assistant [look {}]", `tool "seen"`, "user last", "tools echo look", "{}"},
		},
	}
	for _, tt := range tests {
		for _, warm := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, warm %v", tt.name, warm), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &heard{says: [][]model.Delta{calls("look", "{}"), text("done")}}
					o := options{agents: demo(t, m, tt.spec, tt.plugins...)}
					w := newWorld(t, o)
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.step(t, key)
					if !warm {
						w.stepper = w.other(t, o)
					}
					w.step(t, key)
					if len(m.requests) != 2 {
						t.Fatalf("%d requests, want 2", len(m.requests))
					}
					if diff := cmp.Diff(tt.first, told(m.requests[0])); diff != "" {
						t.Errorf("first request (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.second, told(m.requests[1])); diff != "" {
						t.Errorf("second request (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// Of a pool's members each has a provider of its own: which one would know the name?
func TestAModelByNameIsNotOneOfAPool(t *testing.T) {
	tests := []struct {
		name     string
		override model.Override
		end      string
	}{
		{"another limit", model.Override{MaxTokens: 5}, `done 1 {"type":"natural_end"} "done"`},
		{"another model", model.Override{UpstreamModel: "large"}, `done 0 {"type":"error","code":"plugin","detail":"a plugin asks for a model by name, and the agent's model is a pool: a plugin failed"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &heard{says: [][]model.Delta{text("done")}}
			asks := before(func(int) state.Command { return plugin.SetInferenceOverride.Schedule(tt.override) })
			agents, err := registry.New(agent.Parts{
				Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m}}, Pools: []agent.ModelPoolSpec{{ID: "p", Members: []agent.PoolMember{{Model: "m"}}}},
				Plugins: []plugin.Plugin{asks}, Specs: []agent.Spec{{ID: "demo", Model: "p", Plugins: []string{"before"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, options{agents: agents})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.step(t, key)
			if diff := cmp.Diff(tt.end, w.end(t, key, receipt)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The messages of a request that no log has say whose they are.
func TestContextMessagesAreNamedByTheirKey(t *testing.T) {
	m := &heard{says: [][]model.Delta{text("done")}}
	w := newWorld(t, options{agents: demo(t, m, agent.Spec{}, before(func(int) state.Command {
		return plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "noon", Text: "It is noon.", Target: plugin.TargetSession, Persistent: true})
	}))})
	receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
	w.step(t, key)
	if got := m.requests[0].Messages[0]; got.ID != "context.noon" || got.RunID != receipt.RunID || got.Role != core.RoleSystem {
		t.Errorf("the message is %+v", got)
	}
}

// What a plugin does wrong with a request ends the run, before the model is asked.
func TestFailedTransformEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &heard{says: [][]model.Delta{text("never")}}
		w := newWorld(t, options{agents: demo(t, m, agent.Spec{}, pluginFunc{"bad", func(r *plugin.Registrar) {
			r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { panic("boom") })
		}})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got, want := w.end(t, key, receipt), `done 0 {"type":"error","code":"plugin","detail":"request transform: code of the agent panicked"} ""`; got != want || len(m.requests) != 0 {
			t.Errorf("after %d requests the run is %s\nwant %s", len(m.requests), got, want)
		}
	})
}

// Which member's provider would a model by name be of? Parameters have no such doubt.
func TestInferenceOverrideOnAPool(t *testing.T) {
	tests := []struct {
		name     string
		override model.Override
		asked    []string
		end      string
	}{
		{"parameters", model.Override{MaxTokens: 5}, []string{"model small", "user hi", "tools echo", `{"MaxTokens":5}`}, `done 1 {"type":"natural_end"} "ok"`},
		{"a model by name", model.Override{UpstreamModel: "large", MaxTokens: 5}, nil,
			`done 0 {"type":"error","code":"plugin","detail":"a plugin asks for a model by name, and the agent's model is a pool: a plugin failed"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &heard{says: [][]model.Delta{text("ok")}}
				overrides := before(func(int) state.Command { return plugin.SetInferenceOverride.Schedule(tt.override) })
				agents, err := registry.New(agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m}}, Tools: []tool.Tool{echoTool(t)},
					Pools:   []agent.ModelPoolSpec{{ID: "p", Members: []agent.PoolMember{{Model: "m"}}}},
					Plugins: []plugin.Plugin{overrides}, Specs: []agent.Spec{{ID: "demo", Model: "p", Plugins: []string{"before"}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, options{agents: agents})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				var asked []string
				for _, r := range m.requests {
					asked = append(asked, told(r)...)
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

func TestTokensBelowZeroAreNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &heard{says: [][]model.Delta{{
			{Type: model.DeltaUsage, Usage: core.Usage{Input: -5, Output: 3, CacheRead: -1, CacheWrite: -1, Reasoning: -1}}, say("ok"), stopped,
		}}}
		w := newWorld(t, options{agents: demo(t, m, agent.Spec{})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.runRecord(t, receipt.RunID).Usage; got != (core.Usage{Output: 3}) {
			t.Errorf("the run has used %+v, want an output of 3", got)
		}
	})
}
