package reveille_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

// language is what a person wants to be greeted in. It outlives threads: its key is the
// person.
var language = reveille.ProfileKey[string]{Name: "language"}

// prefer keeps it. What a call writes again after a crash is the same.
func prefer(ctx context.Context, call reveille.Call, a struct {
	Language string `json:"language"`
}) (string, error) {
	return "noted", language.Write(ctx, call.Profiles, call.User, a.Language)
}

// greet reads it, in any thread of the person.
func greet(ctx context.Context, call reveille.Call, _ struct{}) (string, error) {
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
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "host", Model: "scripted"}},
		Models: reveille.Models{"scripted": {Model: scripted.Rules()}},
		Tools: []reveille.Tool{
			reveille.NewTool(reveille.ToolSpec{Name: "prefer", Description: "Keeps the person's language."}, prefer),
			reveille.NewTool(reveille.ToolSpec{Name: "greet", Description: "Greets in the person's language.", ReadOnly: true}, greet),
		},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, said := range []struct{ user, text string }{
		{"ada", `call: prefer {"language":"nb"}`}, {"ada", "call: greet"}, {"bob", "call: greet"},
	} {
		user := r.As(reveille.Identity{User: said.user})
		result, err := user.Run(context.Background(), reveille.Input{Text: said.text}) // each on a thread of its own
		fmt.Println(said.user, result.Text, err)
	}
	// Output:
	// ada The result of prefer: noted <nil>
	// ada The result of greet: Hei! <nil>
	// bob The result of greet: Hello! <nil>
}
