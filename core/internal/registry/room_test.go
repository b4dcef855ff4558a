package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// What a request may hold is the model's window, or the policy's if that is less, without
// what is kept free for the turn.
func TestRoom(t *testing.T) {
	policy := func(p agent.ContextWindowPolicy) *agent.ContextWindowPolicy { return &p }
	tests := []struct {
		name  string
		spec  agent.Spec
		facts model.Facts
		want  registry.Room
	}{
		{"nothing is known", agent.Spec{}, model.Facts{}, registry.Room{Request: 32_000, Keep: 10, PerByte: 250}},
		{"a small model keeps a quarter free", agent.Spec{}, model.Facts{ContextWindow: 8_192}, registry.Room{Request: 6_144, Most: 6_144, Keep: 10, PerByte: 250}},
		{"a large one the default", agent.Spec{}, model.Facts{ContextWindow: 200_000, TokensPerByte: 0.3}, registry.Room{Request: 183_616, Most: 183_616, Keep: 10, PerByte: 300}},
		{"no more than the model says", agent.Spec{}, model.Facts{ContextWindow: 200_000, MaxOutputTokens: 4_000}, registry.Room{Request: 196_000, Most: 196_000, Keep: 10, PerByte: 250}},
		{"what a turn of the agent may have", agent.Spec{MaxTokens: 1_000}, model.Facts{ContextWindow: 8_000}, registry.Room{Request: 7_000, Most: 7_000, Keep: 10, PerByte: 250}},
		{"a request that is bounded apart", agent.Spec{}, model.Facts{ContextWindow: 200_000, MaxInputTokens: 100_000}, registry.Room{Request: 100_000, Most: 100_000, Keep: 10, PerByte: 250}},
		{"the policy's window", agent.Spec{Context: policy(agent.ContextWindowPolicy{MaxContextTokens: 50_000, MinRecentMessages: new(3)})}, model.Facts{ContextWindow: 200_000},
			registry.Room{Request: 33_616, Most: 183_616, Keep: 3, PerByte: 250}},
		{"a policy's window that the model has not", agent.Spec{Context: policy(agent.ContextWindowPolicy{MaxContextTokens: 50_000, MaxOutputTokens: 2_000})}, model.Facts{ContextWindow: 10_000},
			registry.Room{Request: 8_000, Most: 8_000, Keep: 10, PerByte: 250}},
		{"the policy's of a model that nobody knows", agent.Spec{Context: policy(agent.ContextWindowPolicy{MaxContextTokens: 50_000, MaxOutputTokens: 2_000})}, model.Facts{},
			registry.Room{Request: 48_000, Most: 48_000, Keep: 10, PerByte: 250}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.ID, tt.spec.Model = "a", "m"
			agents, err := registry.New(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: mute{}, Facts: tt.facts}}, Specs: []agent.Spec{tt.spec}})
			if err != nil {
				t.Fatal(err)
			}
			found, err := agents.Resolve("a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, found.Room()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATurnThatLeavesNoRoomFailsTheBuild(t *testing.T) {
	tests := []struct {
		name string
		spec agent.Spec
		want string
	}{
		{"of the agent", agent.Spec{MaxTokens: 8_000}, `max_tokens is 8000: of the window of model "m", 8000 tokens, nothing is left for a request`},
		{"of its policy", agent.Spec{Context: &agent.ContextWindowPolicy{MaxOutputTokens: 9_000}}, `context.max_output_tokens is 9000: of the window of model "m", 8000 tokens, nothing is left for a request`},
		{"more than the policy keeps free", agent.Spec{MaxTokens: 3_000, Context: &agent.ContextWindowPolicy{MaxOutputTokens: 2_000}}, `max_tokens is 3000, context.max_output_tokens keeps 2000 free for the turn`},
	}
	for _, tt := range tests {
		tt.spec.ID, tt.spec.Model = "a", "m"
		_, err := registry.New(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: mute{}, Facts: model.Facts{ContextWindow: 8_000}}}, Specs: []agent.Spec{tt.spec}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
