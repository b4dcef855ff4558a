package agentfiles_test

import (
	"context"
	"embed"
	"fmt"

	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

type words struct {
	Text string `json:"text"`
}

// Echo returns a tool of a deployment.
func Echo() reveille.Tool {
	return reveille.NewTool(reveille.ToolSpec{Name: "echo", Description: "Repeats a text.", ReadOnly: true},
		func(_ context.Context, _ reveille.Call, w words) (words, error) { return w, nil })
}

//go:embed agents/*.yaml
var agents embed.FS

// Parts returns the agents of the folder agents, which the build embeds.
func Parts(models reveille.Models) (reveille.Parts, error) {
	parts, err := specfile.Load(agents, "agents/*.yaml")
	if err != nil {
		return reveille.Parts{}, err
	}
	parts.Models, parts.Tools = models, []reveille.Tool{Echo()}
	return parts, nil
}

// Agents of files are embedded in functions on AWS.
func Example_embedded() {
	parts, err := Parts(reveille.Models{"default": {Model: scripted.Rules(), Name: "scripted"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := reveille.New(parts, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "echo: hello"})
	fmt.Println(result.Run.AgentID, result.Text, err)
	// Output: helper Echo: hello <nil>
}
