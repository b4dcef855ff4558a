package runtime_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// An agent with one tool, on the memory store and the scripted model, which
// calls the tool and says what it returned. The process runs everything inline:
// no hint is read.
func ExampleBuild() {
	type arguments struct {
		Text string `json:"text"`
	}
	echo, err := tool.Typed(tool.Spec{Name: "echo", Description: "Says a text back."},
		func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) { return tool.Text(a.Text), nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	world := env.System()
	r, err := runtime.Build(runtime.Config{
		Env: world, Store: memory.New(), Waker: &mailboxtest.Queue{},
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"scripted": {Model: scripted.New(world)}},
			Tools:  []tool.Tool{echo},
			Specs:  []agent.Spec{{ID: "demo", Model: "scripted"}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Stream(context.Background(), mailbox.Submission{
		Thread:   core.ThreadKey{Tenant: "acme", Thread: "greeting"},
		AgentID:  "demo",
		Messages: []core.Message{core.UserMessage("", "echo: hello")},
	}, runtime.ListenerFunc(

		func(e core.Event) error {
			switch e.Type {
			case core.EventToolCallDone:
				fmt.Println(e.Name, "returned", string(e.Result))
			case core.EventRunFinish:
				fmt.Println(e.Response, "/", e.Termination.Type)
			}
			return nil
		}))

	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// echo returned "hello"
	// Echo: hello / natural_end
}
