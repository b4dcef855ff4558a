package local

import (
	"context"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// TestABrokenDeploymentEndsTheStart: what a user gets wrong shows before the host
// listens, by its name and with what there is instead.
func TestABrokenDeploymentEndsTheStart(t *testing.T) {
	tests := []struct {
		name   string
		change func(*agent.Parts)
		want   string
	}{
		{"no agent", func(p *agent.Parts) { *p = agent.Parts{} }, "build host: no agent is registered"},
		{"a default agent that is none", func(p *agent.Parts) { p.Default = "helper" },
			`build host: default agent "helper" not found, known are: buyer, coordinator, demo, researcher`},
		{"a model that nobody bound", func(p *agent.Parts) { p.Specs[0].Model = "gpt" },
			`build host: resolving agent "demo": model "gpt" not found, known are: default`},
		{"a plugin that is not there", func(p *agent.Parts) { p.Specs[0].Plugins = []string{"permision"} },
			`build host: resolving agent "demo": plugin "permision" not found, known are: delegate, permission`},
		{"a tool that is not there", func(p *agent.Parts) { p.Specs[0].ExcludedTools = []string{"dagner"} },
			`build host: resolving agent "demo": tool "dagner" not found, known are: ask_user, danger, echo, read_result, set_state`},
		{"a plugin without a handler", func(p *agent.Parts) { p.Plugins, p.Specs[0].Plugins = []plugin.Plugin{idle{}}, []string{"idle"} },
			`build host: resolving agent "demo": registering plugin "idle": effect "mail" has no key or no handler`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := demonstration
			d.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
				parts, err := demo.Parts(models)
				test.change(&parts)
				return parts, err
			}
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second) // for a host that starts
			defer stop()
			err := start(ctx, []string{"REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA=memory"}, d)
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

// idle registers an effect that nobody handles.
type idle struct{}

func (idle) ID() string { return "idle" }

func (idle) Register(r *plugin.Registrar) error {
	plugin.Effect[string]{Name: "mail"}.Handle(r, nil)
	return nil
}
