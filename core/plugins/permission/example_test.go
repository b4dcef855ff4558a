package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/tool"
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
	bash := tool.New(tool.Spec{Name: "bash", Description: "Runs a command."}, func(_ context.Context, _ tool.Call, a struct {
		Command string `json:"command"`
	}) (string, error) {
		return "ran " + a.Command, nil
	})
	r, err := runtime.New(agent.Parts{
		Specs: []agent.Spec{{
			ID: "coder", Model: "scripted", Plugins: []string{permission.ID},
			Sections: plugin.Sections(permission.Section.Setting(rules)),
		}},
		Models:  map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}},
		Plugins: []plugin.Plugin{permission.Plugin{}},
		Tools:   []tool.Tool{bash},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	waits, err := r.Run(ctx, "coder", `call: bash {"command":"make"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(waits.Termination.Type, string(waits.Tickets[0].Suspension.Parameters))

	approval := runtime.Approve(waits.Tickets[0])
	approval.Decision.Remember = core.RememberThread
	done, err := r.Resume(ctx, waits, approval)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)

	again, err := r.Play(ctx, done.Next(`call: bash {"command":"make"}`), nil, nil)
	fmt.Println(again.Text, err)
	denied, err := r.Play(ctx, done.Next(`call: bash {"command":"cd /; RM -rf ."}`), nil, nil)
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
		v, err := rules.Preview(permission.Question{Tool: "bash", Arguments: arguments})
		fmt.Println(v.Behavior, v.Why, err)
	}
	v, err := rules.Preview(permission.Question{Tool: "read_file"})
	fmt.Println(v.Behavior, v.Why, err)
	// Output:
	// allow rule 1, bash(command ~ "git *"), allows it <nil>
	// ask rule 0, bash, asks about it <nil>
	// deny rule 2, bash(command ~ "*rm -rf*"), denies it <nil>
	// allow no rule matches it, and the default behaviour allows calls of read_file <nil>
}
