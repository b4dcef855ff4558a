package specfile_test

import (
	"fmt"
	"os"
	"testing/fstest"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/model"
)

// Agents are read from files, code is added to them. A program of one's own reads
// os.DirFS("agents").
func Example() {
	files := fstest.MapFS{"helper.yaml": {Data: []byte("id: helper\nmodel: small\nsystem_prompt: Be brief.\nmax_rounds: 4\n")}}
	parts, err := specfile.Loader{Env: os.LookupEnv}.Load(files, "*.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	parts.Models = map[string]agent.ModelBinding{"small": {Model: model.None{}, Name: "vendor-small-1"}}
	registry, err := agent.NewRegistry(parts)
	if err != nil {
		fmt.Println(err)
		return
	}
	helper, err := registry.Resolve("helper")
	fmt.Println(helper.ModelName, helper.Spec.Rounds(), err)
	// Output: vendor-small-1 4 <nil>
}

// An error says what to change, and where.
func ExampleDecode() {
	_, err := specfile.Decode("agents.yaml", []byte("agents:\n  - id: helper\n    model: small\n    max_round: 3\n"))
	fmt.Println(err)
	// Output: agents.yaml:4:5: unknown field "max_round", did you mean "max_rounds"?
}
