package agent_test

import (
	"fmt"

	"github.com/reveille-run/reveille/core/agent"
)

// A spec is data; the registry finds at start what it names and does not exist.
func Example() {
	spec, err := agent.DecodeSpec([]byte(`{"id":"helper","model":"small","system_prompt":"Be brief."}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	parts := agent.Parts{Specs: []agent.Spec{spec}, Models: map[string]agent.ModelBinding{"small": {Model: mute{}, Name: "vendor-small-1"}}}
	registry, err := agent.NewRegistry(parts)
	if err != nil {
		fmt.Println(err)
		return
	}
	helper, err := registry.Resolve("helper")
	fmt.Println(helper.ModelName, helper.Spec.Rounds(), err)

	parts.Specs[0].Model = "big"
	_, err = agent.NewRegistry(parts)
	fmt.Println(err)
	// Output:
	// vendor-small-1 16 <nil>
	// resolving agent "helper": model "big" not found, known are: small
}
