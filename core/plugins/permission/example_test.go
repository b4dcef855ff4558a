package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/reveille"
)

// rules let a coder run commands of git and no rm -rf; other commands wait for a person.
var rules = permission.Config{
	DefaultBehavior: permission.Allow,
	Rules: []permission.Rule{
		{Tool: "bash", Behavior: permission.Ask},
		{Tool: "bash(command ~ 'git *')", Behavior: permission.Allow},
		{Tool: "bash(command ~ '*rm -rf*')", Behavior: permission.Deny},
	},
}

// An agent whose calls of a tool wait for a person, who remembers one for the thread.
func Example() {
	bash := reveille.NewTool(reveille.ToolSpec{Name: "bash", Description: "Runs a command."}, func(_ context.Context, _ reveille.Call, a struct {
		Command string `json:"command"`
	}) (string, error) {
		return "ran " + a.Command, nil
	})
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "coder", Model: "scripted", Plugins: []string{permission.ID},
			Sections: reveille.Sections(reveille.Permit(rules)),
		}},
		Models:  reveille.Models{"scripted": {Model: scripted.Rules()}},
		Plugins: []reveille.Plugin{reveille.PermissionPlugin()},
		Tools:   []reveille.Tool{bash},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	waits, err := r.Run(ctx, reveille.Input{Text: `call: bash {"command":"make"}`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(waits.Termination.Type, string(waits.Tickets[0].Suspension.Parameters))

	approval := reveille.Approve(waits.Tickets[0])
	approval.Remember = core.RememberThread
	if err := r.Decide(ctx, waits.Run.ID, approval); err != nil {
		log.Fatal(err)
	}
	done, err := r.Wait(ctx, waits.Run.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)

	again, err := r.Run(ctx, done.Next(`call: bash {"command":"make"}`))
	fmt.Println(again.Text, err)
	denied, err := r.Run(ctx, done.Next(`call: bash {"command":"cd /; RM -rf ."}`))
	fmt.Println(denied.Termination.Detail, err)
	// Output:
	// suspended {"tool":"bash","arguments":{"command":"make"}}
	// The result of bash: ran make
	// The result of bash: ran make <nil>
	// permission denied for the tool bash: rule 2, bash(command ~ "*rm -rf*"), denies it <nil>
}

// What would become of a call can be asked before anybody makes it: in a test of an
// agent's rules, for example. permission.Of reads them from a spec.
func ExampleConfig_Preview() {
	for _, command := range []string{"git push", "make", "git clean && rm -rf /"} {
		arguments, _ := json.Marshal(map[string]string{"command": command})
		fmt.Println(rules.Preview(plugin.GateCall{Call: core.ToolCall{Name: "bash", Arguments: arguments}}))
	}
	fmt.Println(rules.Preview(plugin.GateCall{Call: core.ToolCall{Name: "read_file"}}))
	// Output:
	// allow rule 1, bash(command ~ "git *"), allows it <nil>
	// ask rule 0, bash, asks about it <nil>
	// deny rule 2, bash(command ~ "*rm -rf*"), denies it <nil>
	// allow no rule matches it, and the default behaviour allows calls of read_file <nil>
}
