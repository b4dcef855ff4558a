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

// scriptedModel binds the model that needs no key and no network.
func scriptedModel() map[string]agent.ModelBinding {
	return map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}}
}

// The first agent: a spec and a model.
func ExampleNew() {
	r, err := runtime.New(agent.Parts{
		Specs:  []agent.Spec{{ID: "parrot", Model: "scripted"}},
		Models: scriptedModel(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), "parrot", "hello")
	fmt.Println(result.Text, "/", result.Termination.Type, "/", result.Usage.Output, "tokens", err)
	// Output: You said: hello / natural_end / 3 tokens <nil>
}

// newParrot is ExampleNew's agent, with a tool.
func newParrot() *runtime.Runtime {
	r, err := runtime.New(agent.Parts{
		Specs:  []agent.Spec{{ID: "parrot", Model: "scripted"}},
		Models: scriptedModel(),
		Tools: []tool.Tool{tool.New(tool.Spec{Name: "twice", Description: "Repeats a word."},
			func(_ context.Context, _ tool.Call, a struct {
				Word string `json:"word"`
			}) (string, error) {
				return a.Word + a.Word, nil
			})},
	})
	if err != nil {
		panic(err)
	}
	return r
}

// Reading a run as it happens. To break out of the loop ends the run.
func ExampleRuntime_Events() {
	for e, err := range newParrot().Events(context.Background(), "parrot", `call: twice {"word":"ho"}`) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e.Type {
		case core.EventToolCallReady:
			fmt.Println("calls", e.Name, string(e.Arguments))
		case core.EventToolCallDone:
			fmt.Println("returns", string(e.Result))
		case core.EventTextDelta:
			fmt.Println("says", e.Delta)
		case core.EventRunFinish:
			fmt.Println("ends:", e.Termination.Type)
		}
	}
	// Output:
	// calls twice {"word":"ho"}
	// returns "hoho"
	// says The result of
	// says  twice: hoho
	// ends: natural_end
}

// A conversation: the second run is on the first one's thread.
func ExampleRuntime_Play() {
	r, ctx := newParrot(), context.Background()
	first, err := r.Run(ctx, "parrot", "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Play(ctx, first.Next("and bye"), nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := r.Messages(ctx, core.Identity{}, first.Thread, runtime.MessageQuery{})
	for _, m := range page.Messages {
		fmt.Println(m.Role, "/", m.Text())
	}
	fmt.Println(err)
	// Output:
	// user / hello
	// assistant / You said: hello
	// user / and bye
	// assistant / You said: and bye
	// <nil>
}

// A tool that a person must approve: the run waits, and nothing runs meanwhile.
func ExampleRuntime_Resume() {
	deploy := tool.New(tool.Spec{Name: "deploy", Description: "Deploys.", Approval: "Deploy?"},
		func(context.Context, tool.Call, struct{}) (string, error) { return "deployed", nil })
	r, err := runtime.New(agent.Parts{
		Specs: []agent.Spec{{ID: "ops", Model: "scripted"}}, Models: scriptedModel(), Tools: []tool.Tool{deploy},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), "ops", "call: deploy")
	for err == nil && len(result.Tickets) > 0 {
		fmt.Println(result.Termination.Type, result.Tickets[0].Suspension.Message)
		result, err = r.Resume(context.Background(), result, runtime.Approve(result.Tickets[0]))
	}
	fmt.Println(result.Text, err)
	// Output:
	// suspended Deploy?
	// The result of deploy: deployed <nil>
}

// A runtime with a store and a queue of the program's own, as the hosts have one. The
// process works off its queue by WorkLocal; here nothing is on it.
func ExampleBuild() {
	r, err := runtime.Build(runtime.Config{
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
	}, runtime.ListenerFunc(func(e core.Event) error {
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
