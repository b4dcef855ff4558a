package registry_test

import (
	"fmt"
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
		{"nothing is known", agent.Spec{}, model.Facts{}, registry.Room{Request: 111_616, Most: 111_616, Keep: 10, PerByte: 250}},
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

// A window that a refusal has told is the agent's where it is smaller. Something is always
// left for a request.
func TestRoomWithinASmallerWindow(t *testing.T) {
	tests := []struct {
		name   string
		spec   agent.Spec
		facts  model.Facts
		within int
		want   registry.Room
	}{
		{"nothing was told", agent.Spec{}, model.Facts{ContextWindow: 200_000}, 0, registry.Room{Request: 183_616, Most: 183_616, Keep: 10, PerByte: 250}},
		{"the same", agent.Spec{}, model.Facts{ContextWindow: 200_000}, 200_000, registry.Room{Request: 183_616, Most: 183_616, Keep: 10, PerByte: 250}},
		{"a larger one", agent.Spec{}, model.Facts{ContextWindow: 8_192}, 200_000, registry.Room{Request: 6_144, Most: 6_144, Keep: 10, PerByte: 250}},
		{"a smaller one", agent.Spec{}, model.Facts{ContextWindow: 200_000, MaxInputTokens: 150_000, MaxOutputTokens: 100_000}, 8_192, registry.Room{Request: 6_144, Most: 6_144, Keep: 10, PerByte: 250}},
		{"of a model that nobody knows", agent.Spec{}, model.Facts{}, 8_192, registry.Room{Request: 6_144, Most: 6_144, Keep: 10, PerByte: 250}},
		{"a turn of the agent takes all of it", agent.Spec{MaxTokens: 9_000}, model.Facts{ContextWindow: 200_000}, 8_192, registry.Room{Request: 2_048, Most: 2_048, Keep: 10, PerByte: 250}},
		{"the agent's own bound counts", agent.Spec{Context: &agent.ContextWindowPolicy{MaxContextTokens: 5_000, MaxOutputTokens: 1_000}}, model.Facts{ContextWindow: 200_000}, 8_192,
			registry.Room{Request: 4_000, Most: 7_192, Keep: 10, PerByte: 250}},
		{"a bound of the agent that leaves nothing", agent.Spec{Context: &agent.ContextWindowPolicy{MaxContextTokens: 3_000, MaxOutputTokens: 2_000}}, model.Facts{ContextWindow: 200_000}, 2_048,
			registry.Room{Request: 512, Most: 512, Keep: 10, PerByte: 250}},
	}
	for _, tt := range tests {
		tt.spec.ID, tt.spec.Model = "a", "m"
		agents, err := registry.New(agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: mute{}, Facts: tt.facts}}, Specs: []agent.Spec{tt.spec}})
		if err != nil {
			t.Fatal(err)
		}
		found, err := agents.Resolve("a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, found.RoomWithin(tt.within)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTheUnknownWindowHasBounds(t *testing.T) {
	for n, want := range map[int]string{
		0: "<nil>", 1024: "<nil>", 10_000_000: "<nil>",
		-1:         "Parts.UnknownWindow is -1 tokens, allowed are 1024 to 10000000",
		1023:       "Parts.UnknownWindow is 1023 tokens, allowed are 1024 to 10000000",
		10_000_001: "Parts.UnknownWindow is 10000001 tokens, allowed are 1024 to 10000000",
	} {
		p := knownModels(heardOf(t, 1000))
		p.UnknownWindow = n
		r, err := registry.New(p)
		if fmt.Sprint(err) != want {
			t.Errorf("%d: %v, want %s", n, err, want)
		}
		if err == nil && n > 0 {
			if a, err := r.Resolve("wrong"); err != nil || a.CallableModels()[0].ContextWindow != n {
				t.Errorf("%d: the window is %d, %v", n, a.CallableModels()[0].ContextWindow, err)
			}
		}
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
