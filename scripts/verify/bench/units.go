package main

import (
	"os"

	"github.com/reveille-run/reveille/adapters/aws/env/prices"
	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
)

// costFile has the units of DynamoDB that make cost measured and make test-aws asserts.
const costFile = "infra/cost.json"

// readUnits reads the units and prices a step with them.
func readUnits() (figures, error) {
	text, err := os.ReadFile(costFile)
	if err != nil {
		return nil, err
	}
	measured, err := cost.Parse(text)
	if err != nil {
		return nil, err
	}
	table, err := prices.Default()
	if err != nil {
		return nil, err
	}
	found := figures{"steps USD": 1000 * cost.Account{Figures: measured, Prices: table}.Step().Sum()}
	for name, work := range measured.Work {
		found[name+" WCU"], found[name+" RRU"] = work.Write, work.Read
	}
	return found, nil
}
