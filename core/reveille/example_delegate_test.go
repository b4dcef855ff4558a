package reveille_test

import (
	"context"

	"github.com/reveille-run/reveille/core/reveille"
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
