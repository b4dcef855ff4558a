package demo_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

func parts() (reveille.Parts, error) {
	return demo.Parts(reveille.Models{demo.Model: {Model: model.None{}}})
}

// The sample of functions/guides/testing.md.
func TestCrashes(t *testing.T) {
	reveilletest.Crashes{Parts: parts, Scenarios: []reveilletest.Scenario{ // parts: func() (reveille.Parts, error)
		{Name: "approved", Person: []reveilletest.Act{
			reveilletest.Say("approve: ship it"), // the scripted model does what it is told
			reveilletest.Approve(),
		}},
		{Name: "asked", Person: []reveilletest.Act{
			reveilletest.Say("ask: when?"),
			reveilletest.Reply(`"now"`),
		}},
	}}.Run(t)
}

func TestMoreCrashes(t *testing.T) {
	reveilletest.Crashes{Parts: parts, Scenarios: []reveilletest.Scenario{
		{Name: "text", Person: []reveilletest.Act{reveilletest.Say("hello"), reveilletest.Say("slow: 3")}},
		{Name: "tools", Person: []reveilletest.Act{reveilletest.Say("parallel: a, b"), reveilletest.Say(`call: nothing {"x":1}`)}},
		{Name: "state", Person: []reveilletest.Act{reveilletest.Say(`state: {"a":1}`), reveilletest.Say(`state: {"b":[2]}`)}},
		{Name: "failure", Person: []reveilletest.Act{reveilletest.Say("fail")}},
		{Name: "denied", Person: []reveilletest.Act{reveilletest.Say("approve: drop it"), reveilletest.Deny("no")}},
		{Name: "taken back", Person: []reveilletest.Act{reveilletest.Say("approve: drop it"), reveilletest.Say("hello")}},
	}}.Run(t)
}
