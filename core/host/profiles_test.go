package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

var visits = state.ProfileKey[int]{Name: "visits"}

// welcome counts, for each user, the runs of all threads.
type welcome struct{}

func (welcome) ID() string { return "welcome" }

func (welcome) Register(r *plugin.Registrar) error {
	r.OnRunStart(func(ctx context.Context, c plugin.RunStart) (state.Command, error) {
		_, err := visits.Update(ctx, c.Profiles, c.User, func(n int) (int, error) { return n + 1, nil })
		return state.Command{}, err
	})
	return nil
}

// What a hook keeps outside of threads a tool of another thread reads, of the same
// tenant.
func TestProfilesReachHooksAndToolsOfTheirTenant(t *testing.T) {
	parts := soloParts()
	parts.Plugins, parts.Specs[0].Plugins = append(parts.Plugins, welcome{}), append(parts.Specs[0].Plugins, "welcome")
	parts.Tools = append(parts.Tools, tool.New(tool.Spec{Name: "visits"}, func(ctx context.Context, c tool.Call, _ struct{}) (string, error) {
		n, err := visits.Read(ctx, c.Profiles, c.User)
		return fmt.Sprintf("%s: %d", c.User, n), err
	}))
	r, err := host.InMemory(parts)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct{ tenant, user, want string }{
		{"acme", "ann", "The result of visits: ann: 1"},
		{"acme", "ann", "The result of visits: ann: 2"},
		{"acme", "bob", "The result of visits: bob: 1"},
		{"other", "ann", "The result of visits: ann: 1"},
	} {
		result, err := r.Play(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: tt.tenant, Thread: fmt.Sprint("t", i)}, User: tt.user, Opening: mailbox.Opening{AgentID: parts.Specs[0].ID},
			Messages: []core.Message{core.UserMessage("call: visits")},
		}, nil, nil)
		if err != nil || result.Text != tt.want {
			t.Errorf("%s of %s: %q, %v; want %q", tt.user, tt.tenant, result.Text, err, tt.want)
		}
	}
}
