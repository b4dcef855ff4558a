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

// A router and two specialists.
func Example_delegate() {
	r, err := reveille.New(specialists(reveille.Models{"m": {Model: reveilletest.Rules()}}), nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "What does it cost?"})
	fmt.Println(result.Text, err)
}
