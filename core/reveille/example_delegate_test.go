package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

func price(context.Context, reveille.Call, struct{}) (string, error) { return "12 EUR", nil }

// specialists are three agents. The router leaves questions to one of the others, and waits
// for it at no cost. Who asks sees one run.
func specialists(models reveille.Models) reveille.Parts {
	return reveille.Parts{
		Specs: []reveille.AgentSpec{
			{ID: "router", Model: "m", Delegates: []string{"billing", "tech"}, AllowedTools: []string{}},
			{ID: "billing", Model: "m", Description: "Knows prices and invoices.", AllowedTools: []string{"price"}},
			{ID: "tech", Model: "m", Description: "Mends what is broken.", AllowedTools: []string{}},
		},
		Models:  models,
		Tools:   []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "price", Description: "Tells a price.", ReadOnly: true}, price)},
		Default: "router",
	}
}

// A router and two specialists. The turns of a delegate are those of its prompt.
func Example_delegate() {
	r, err := reveille.New(specialists(reveille.Models{"m": {Model: reveilletest.Script(
		reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("agent_run_billing", map[string]string{"prompt": "The price?"})}},
		reveilletest.Turn{Text: "It costs 12 EUR."},
		reveilletest.Turn{Input: "The price?", Calls: []reveille.ToolCall{reveilletest.Call("price", nil)}},
		reveilletest.Turn{Text: "12 EUR."},
	)}}), nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "What does it cost?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Messages[len(result.Messages)-2].ToolResult.Text())
	fmt.Println(result.Text)
	// Output:
	// {"agent_id":"billing","status":"completed","response":"12 EUR.","output":"12 EUR.","steps":2}
	// It costs 12 EUR.
}

// A delegate that remembers what it was asked on a thread, and that continues when its caller
// ends.
func ExampleDelegate() {
	parts := specialists(reveille.Models{"m": {Model: reveilletest.Rules()}})
	parts.Specs[0].Sections = reveille.Sections(reveille.Delegate(map[string]reveille.DelegateSettings{
		"billing": {Thread: reveille.DelegateKept, OnParentEnd: reveille.DelegateDetach},
	}))
	r, err := reveille.New(parts, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{`call: agent_run_billing {"prompt":"one"}`, `call: agent_run_billing {"prompt":"two"}`} {
		if _, err := r.Run(context.Background(), reveille.Input{Thread: "t", Text: text}); err != nil {
			log.Fatal(err)
		}
	}
	for m, err := range r.Messages(context.Background(), "kept.96e58f4af048c2f1c6fec25e881af55e") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Text())
	}
	// Output:
	// one
	// You said: one
	// two
	// You said: two
}
