package demo_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/sim/simtest"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

func parts() (agent.Parts, error) {
	return demo.Parts(map[string]agent.ModelBinding{demo.Model: {Model: model.None{}}})
}

// What README.md shows.
func TestCrashes(t *testing.T) {
	simtest.Run(t, parts, // func() (agent.Parts, error)
		simtest.Scenario{Name: "approved", Person: []simtest.Act{
			simtest.Say("approve: ship it"), // the scripted model does what it is told
			simtest.Approve(),
		}},
		simtest.Scenario{Name: "asked", Person: []simtest.Act{
			simtest.Say("ask: when?"),
			simtest.Reply(`"now"`),
		}},
	)
}

func TestMoreCrashes(t *testing.T) {
	simtest.Run(t, parts,
		simtest.Scenario{Name: "text", Person: []simtest.Act{simtest.Say("hello"), simtest.Say("slow: 3")}},
		simtest.Scenario{Name: "tools", Person: []simtest.Act{simtest.Say("parallel: a, b"), simtest.Say(`call: nothing {"x":1}`)}},
		simtest.Scenario{Name: "state", Person: []simtest.Act{simtest.Say(`state: {"a":1}`), simtest.Say(`state: {"b":[2]}`)}},
		simtest.Scenario{Name: "failure", Person: []simtest.Act{simtest.Say("fail")}},
		simtest.Scenario{Name: "denied", Person: []simtest.Act{simtest.Say("approve: drop it"), simtest.Deny("no")}},
		simtest.Scenario{Name: "taken back", Person: []simtest.Act{simtest.Say("approve: drop it"), simtest.Say("hello")}},
	)
}
