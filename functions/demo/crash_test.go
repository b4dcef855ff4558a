package demo_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/sim/simtest"
	"github.com/reveille-run/reveille/functions/demo"
)

// Wherever a process dies, stops or repeats itself, the demo comes to the same.
func TestTheDemoSurvivesCrashes(t *testing.T) {
	parts := func() (agent.Parts, error) {
		return demo.Parts(map[string]agent.ModelBinding{demo.Model: {Model: model.None{}}})
	}
	simtest.Run(t, parts,
		simtest.Scenario{Name: "text", Person: []simtest.Act{simtest.Say("hello"), simtest.Say("think: about it"), simtest.Say("slow: 5")}},
		simtest.Scenario{Name: "tools", Person: []simtest.Act{simtest.Say("echo: a"), simtest.Say("parallel: a, b, c"), simtest.Say(`call: nothing {"x":1}`)}},
		simtest.Scenario{Name: "failure", Person: []simtest.Act{simtest.Say("fail"), simtest.Say("hello")}},
		simtest.Scenario{Name: "approved", Person: []simtest.Act{simtest.Say("approve: ship it"), simtest.Approve()}},
		simtest.Scenario{Name: "denied", Person: []simtest.Act{simtest.Say("approve: drop it"), simtest.Deny("no")}},
		simtest.Scenario{Name: "taken back", Person: []simtest.Act{simtest.Say("approve: drop it"), simtest.Say("hello")}},
		simtest.Scenario{Name: "asked", Person: []simtest.Act{simtest.Say("ask: when?"), simtest.Reply(`"now"`)}},
	)
}
