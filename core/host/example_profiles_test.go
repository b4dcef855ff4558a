package host_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// language is what a person wants to be greeted in. It outlives threads: its key is the
// person.
var language = state.ProfileKey[string]{Name: "language"}

// prefer keeps it. What a call writes again after a crash is the same.
func prefer(ctx context.Context, call tool.Call, a struct {
	Language string `json:"language"`
}) (string, error) {
	return "noted", language.Write(ctx, call.Profiles, call.User, a.Language)
}

// greet reads it, in any thread of the person.
func greet(ctx context.Context, call tool.Call, _ struct{}) (string, error) {
	preferred, err := language.Read(ctx, call.Profiles, call.User)
	if err != nil {
		return "", err
	}
	if preferred == "nb" {
		return "Hei!", nil
	}
	return "Hello!", nil
}

// Profiles are values outside of threads: what one thread has learnt of a person, another
// one knows. Hooks have them as well, in their context.
func Example_profiles() {
	r, err := host.InMemory(agent.Parts{
		Specs:  []agent.Spec{{ID: "host", Model: "scripted"}},
		Models: scriptedModel(),
		Tools: []tool.Tool{
			tool.New(tool.Spec{Name: "prefer", Description: "Keeps the person's language."}, prefer),
			tool.New(tool.Spec{Name: "greet", Description: "Greets in the person's language.", ReadOnly: true}, greet),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, said := range []struct{ user, text string }{
		{"ada", `call: prefer {"language":"nb"}`}, {"ada", "call: greet"}, {"bob", "call: greet"},
	} {
		result, err := r.Play(context.Background(), mailbox.Submission{ // each on a thread of its own
			User: said.user, Messages: []core.Message{core.UserMessage(said.text)},
		}, nil, nil)
		fmt.Println(said.user, result.Text, err)
	}
	// Output:
	// ada The result of prefer: noted <nil>
	// ada The result of greet: Hei! <nil>
	// bob The result of greet: Hello! <nil>
}
