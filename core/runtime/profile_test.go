package runtime_test

import (
	"context"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// visitors counts the runs of a tenant, on whatever thread.
var visitors = state.ProfileKey[int]{Name: "visitors"}

type greeter struct{}

func (greeter) ID() string { return "greeter" }

func (greeter) Register(r *plugin.Registrar) error {
	r.OnRunStart(func(ctx context.Context, c plugin.RunStart) (state.Command, error) {
		_, err := visitors.Update(ctx, c.Profiles, state.Global, func(n int) (int, error) { return n + 1, nil })
		return state.Command{}, err
	})
	r.Tool(tool.New("count", "", func(ctx context.Context, c tool.Call, _ struct{}) (int, error) {
		return visitors.Read(ctx, c.Profiles, state.Global)
	}))
	return nil
}

// Hooks and tools of a tenant's runs share its profiles, and see no other tenant's.
func TestHooksAndToolsHaveTheirTenantsProfiles(t *testing.T) {
	parts := soloParts()
	parts.Plugins = append(parts.Plugins, greeter{})
	parts.Specs[0].Plugins = append(parts.Specs[0].Plugins, "greeter")
	r := newSolo(t, parts)
	for _, step := range []struct{ tenant, want string }{
		{"", "The result of count: 1"}, {"", "The result of count: 2"}, {"other", "The result of count: 1"}, {"", "The result of count: 3"},
	} {
		result, err := r.RunInput(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: step.tenant}, AgentID: "demo", Messages: []core.Message{core.UserMessage("", "call: count")},
		})
		if err != nil || result.Text != step.want {
			t.Errorf("tenant %q: %q, %v, want %q", step.tenant, result.Text, err, step.want)
		}
	}
}
