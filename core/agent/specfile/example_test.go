package specfile_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
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
	parts.Models = reveille.Models{"small": {Model: scripted.Rules(), Name: "vendor-small-1"}}
	r, err := reveille.New(parts, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "hello"})
	fmt.Println(result.Run.AgentID, result.Text, err)
	// Output: helper You said: hello <nil>
}

// An error says what to change, and where.
func ExampleDecode() {
	_, err := specfile.Decode("agents.yaml", []byte("agents:\n  - id: helper\n    model: small\n    max_round: 3\n"))
	fmt.Println(err)
	// Output: agents.yaml:4:5: unknown field "max_round", did you mean "max_rounds"?
}
