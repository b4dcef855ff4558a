package host_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
)

// scriptedModel binds the model that needs no key and no network.
func scriptedModel() map[string]agent.ModelBinding {
	return map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}}
}

// A runtime with a store and a queue of the program's own, as the hosts have one. The
// process works off its queue by WorkLocal; here nothing is on it.
func ExampleNew() {
	r, err := host.New(host.Options{
		Env: env.System(), Store: memory.New(), Waker: &mailboxtest.Queue{},
		Agents: agent.Parts{Specs: []agent.Spec{{ID: "parrot", Model: "scripted"}}, Models: scriptedModel()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Stream(context.Background(), mailbox.Submission{
		Thread:   core.ThreadKey{Tenant: "acme", Thread: "greeting"},
		Opening:  mailbox.Opening{AgentID: "parrot"},
		Messages: []core.Message{core.UserMessage("hello")},
	}, host.ListenerFunc(func(e core.Event) error {
		if e.Type == core.EventRunFinish {
			fmt.Println(e.Response, "/", e.Termination.Type)
		}
		return nil
	}))
	fmt.Println(err)
	// Output:
	// You said: hello / natural_end
	// <nil>
}
