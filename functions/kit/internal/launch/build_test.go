package launch

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

func TestBrokenAgentsAreNamedAtStart(t *testing.T) {
	c := &cloud.Function{Env: env.System(), Store: &dynamo.Store{}, Queue: &sqs.Queue{}}
	tests := []struct {
		name       string
		change     func(*agent.Parts)
		step, idle string // errors of functions that take steps, and of those that take none
	}{
		{"none", func(*agent.Parts) {}, "<nil>", "<nil>"},
		{"a default agent that is none", func(p *agent.Parts) { p.Default = "helper" },
			`build host: default agent "helper" not found, known are: buyer, coordinator, demo, researcher`, `build host: default agent "helper" not found, known are: buyer, coordinator, demo, researcher`},
		{"a model that nobody bound", func(p *agent.Parts) { p.Specs[0].Model = "gpt" },
			`build host: resolving agent "demo": model "gpt" not found, known are: default`, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := wiring.Deployment{Models: binding.Bind, Parts: func(bound map[string]agent.ModelBinding) (agent.Parts, error) {
				parts, err := demo.Parts(bound)
				if err == nil {
					test.change(&parts)
				}
				return parts, err
			}}
			steps, err := d.Agents(c.Env, c.Settings)
			if err != nil {
				t.Fatal(err)
			}
			idle, err := d.Idle(settings.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []struct {
				parts agent.Parts
				want  string
			}{{steps, test.step}, {idle, test.idle}} {
				if _, err := build(c, kind.parts, nil); fmt.Sprint(err) != kind.want {
					t.Errorf("error %v\nwant  %s", err, kind.want)
				}
			}
		})
	}
}
