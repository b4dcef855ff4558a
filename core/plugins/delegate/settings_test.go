package delegate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/tool"
)

func TestSettings(t *testing.T) {
	for _, tt := range []struct{ section, want string }{
		{`{}`, ""},
		{`{"agents":{"writer":{}}}`, ""},
		{`{"agents":{"writer":{"thread":"new","on_parent_end":"cancel"}}}`, ""},
		{`{"agents":{"writer":{"thread":"kept","on_parent_end":"detach"}}}`, ""},
		{`{"agents":{"writer":{"thread":"old"}}}`, `section "delegate": agents.writer.thread is "old", allowed are "new" and "kept"`},
		{`{"agents":{"writer":{"on_parent_end":"wait"}}}`, `section "delegate": agents.writer.on_parent_end is "wait", allowed are "cancel" and "detach"`},
		{`{"agents":{"critic":{"thread":"kept"}}}`, `section "delegate": agent "critic" is not a delegate of the agent, its delegates are: writer`},
		{`{"agents":{"writer":{"kept":true}}}`, `unknown field "kept"`},
		{`{"agent":{}}`, `unknown field "agent"`},
	} {
		_, err := program(
			reveille.AgentSpec{ID: "lead", Delegates: []string{"writer"}, Sections: map[string]json.RawMessage{"delegate": json.RawMessage(tt.section)}},
			reveille.AgentSpec{ID: "writer"}, reveille.AgentSpec{ID: "critic"},
		)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.section, err, tt.want)
		}
	}
}

// TestWhoHasTheTools has what the spec says of tools, and the tools that the agent has then.
func TestWhoHasTheTools(t *testing.T) {
	plain := reveille.NewTool(reveille.ToolSpec{Name: "plain"}, func(context.Context, reveille.Call, struct{}) (string, error) { return "", nil })
	other := reveille.NewPlugin("other", func(r *reveille.Registrar) error { return nil })
	for _, tt := range []struct {
		name string
		spec agent.Spec
		tool string   // another tool of the program
		want []string // the first is an error, if it has a blank
	}{
		{"both", agent.Spec{Delegates: []string{"a", "b"}}, "", []string{"agent_run_a", "agent_run_b", "plain"}},
		{"none", agent.Spec{}, "", []string{"plain"}},
		{"without an allowed tool", agent.Spec{Delegates: []string{"b"}, AllowedTools: []string{}}, "", []string{"agent_run_b"}},
		{"with an allowed tool", agent.Spec{Delegates: []string{"b"}, AllowedToolPatterns: []string{"pl*"}}, "", []string{"agent_run_b", "plain"}},
		{"but one", agent.Spec{Delegates: []string{"a", "b"}, ExcludedTools: []string{"agent_run_b"}}, "", []string{"agent_run_a", "plain"}},
		{"named", agent.Spec{Delegates: []string{"b"}, Plugins: []string{"delegate"}}, "", []string{"agent_run_b", "plain"}},
		{"with another plugin's hooks alone", agent.Spec{Delegates: []string{"b"}, Plugins: []string{"other"}, ActiveHookFilter: []string{"other"}}, "", []string{"agent_run_b", "plain"}},
		{"exposed", agent.Spec{Delegates: []string{"a", "b"}, ExposedTools: []string{"agent_run_b"}}, "", []string{"agent_run_a", "agent_run_b", "plain"}},
		{"no such agent", agent.Spec{Delegates: []string{"x"}}, "", []string{`resolving agent "lead": delegate agent "x" not found, known are: a, b, lead, s.t`}},
		{"no name of a tool", agent.Spec{Delegates: []string{"s.t"}}, "", []string{`resolving agent "lead": registering plugin "delegate": tool name "agent_run_s.t" has the character '.', allowed are A-Z a-z 0-9 _ -`}},
		{"the name of another tool", agent.Spec{Delegates: []string{"b"}}, "agent_run_b", []string{`resolving agent "lead": tool "agent_run_b" of a plugin has the name of a tool of the registry`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.ID, tt.spec.Model = "lead", "m"
			parts := agent.Parts{
				Specs:  []agent.Spec{tt.spec, {ID: "a", Model: "m", Description: "Does a."}, {ID: "b", Model: "m"}, {ID: "s.t", Model: "m"}},
				Models: map[string]agent.ModelBinding{"m": {Model: scripted.Rules()}}, Tools: []tool.Tool{plain}, Plugins: []plugin.Plugin{delegate.Plugin{}},
			}
			if slices.Contains(tt.spec.Plugins, "other") {
				parts.Plugins = append(parts.Plugins, other)
			}
			if tt.tool != "" {
				parts.Tools = append(parts.Tools, reveille.NewTool(reveille.ToolSpec{Name: tt.tool}, func(context.Context, reveille.Call, struct{}) (string, error) { return "", nil }))
			}
			h, err := host.New(host.Options{Env: env.System(), Agents: parts})
			if err != nil {
				if diff := cmp.Diff("build host: "+tt.want[0], err.Error()); diff != "" {
					t.Error(diff)
				}
				return
			}
			lead, err := h.Agent("lead")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, of := range lead.Tools {
				got = append(got, of.Name)
				if want := map[string]string{"agent_run_a": "Does a."}[of.Name]; of.Description != want {
					t.Errorf("%s is described as %q", of.Name, of.Description)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A program that names delegates and does not register the plugin learns that at its start.
func TestAProgramWithoutThePlugin(t *testing.T) {
	parts := agent.Parts{
		Specs:  []agent.Spec{{ID: "lead", Model: "m", Delegates: []string{"b"}}, {ID: "b", Model: "m"}},
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.Rules()}},
	}
	var log bytes.Buffer
	if _, err := host.New(host.Options{Env: env.System(), Agents: parts, Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, `msg="agent spec: has no effect: no active plugin runs delegates, register the plugin \"delegate\"" agent=lead field=delegates`) {
		t.Errorf("logged: %s", got)
	}
	parts.Specs[0].Strict = true
	if _, err := host.New(host.Options{Env: env.System(), Agents: parts}); err == nil || err.Error() != `build host: agent "lead": delegates has no effect: no active plugin runs delegates, register the plugin "delegate"` {
		t.Errorf("strict: %v", err)
	}
	parts = delegate.In(delegate.In(parts))
	if _, err := host.New(host.Options{Env: env.System(), Agents: parts}); err != nil || len(parts.Plugins) != 1 {
		t.Errorf("with the plugin: %v, %d plugins", err, len(parts.Plugins))
	}
}
