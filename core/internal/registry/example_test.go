package registry_test

import (
	"fmt"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
)

// A spec is data; the registry finds at start what it names and does not exist.
func Example() {
	spec := agent.Spec{ID: "helper", Model: "small", SystemPrompt: "Be brief."}
	parts := agent.Parts{Specs: []agent.Spec{spec}, Models: map[string]agent.ModelBinding{"small": {Model: mute{}, Name: "vendor-small-1"}}}
	agents, err := registry.New(parts)
	if err != nil {
		fmt.Println(err)
		return
	}
	helper, err := agents.Resolve("helper")
	fmt.Println(helper.ModelName, helper.Spec.Rounds(), err)

	parts.Specs[0].Model = "big"
	_, err = registry.New(parts)
	fmt.Println(err)
	// Output:
	// vendor-small-1 16 <nil>
	// resolving agent "helper": model "big" not found, known are: small
}
