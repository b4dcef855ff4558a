package reveille_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"golang.org/x/sync/errgroup"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

type invoice struct {
	Number string  `json:"number" jsonschema:"as printed"`
	Total  float64 `json:"total"`
	Due    *string `json:"due,omitempty"`
}

// Check is asked about every answer; its error goes back to the model.
func (i invoice) Check() error {
	if i.Total < 0 {
		return errors.New("total is negative")
	}
	return nil
}

// Invoices are read, eight at a time. An answer that does not fit goes back to the model; a
// run that ends without an answer is a RunError.
func ExampleAnswer() {
	said := func(input string, answers ...string) (turns []reveilletest.Turn) {
		for _, a := range answers {
			turns = append(turns, reveilletest.Turn{Input: input, Text: a})
			input = ""
		}
		return turns
	}
	m := reveilletest.Script(append(
		said("Invoice 7, 12 EUR", `{"number":"7","total":-12,"due":null}`, `{"number":"7","total":12,"due":null}`),
		said("A poem", "no", "no", "no", "no", "no")...)...)
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "clerk", Model: "m"}},
		Models: reveille.Models{"m": {Model: m}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	texts := []string{"Invoice 7, 12 EUR", "A poem"}
	lines := make([]string, len(texts))
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(8)
	for i, text := range texts {
		g.Go(func() error {
			in, result, err := reveille.Answer[invoice](ctx, r, reveille.Input{Text: text})
			if failed, ok := errors.AsType[*reveille.RunError](err); ok { // there is no invoice in it
				lines[i] = fmt.Sprint(text, ": ", failed.Termination.Code, ", ", result.Run.Steps, " steps")
				return nil
			}
			lines[i] = fmt.Sprint(text, ": ", in.Number, " ", in.Total)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(lines[0])
	fmt.Println(lines[1])
	// Output:
	// Invoice 7, 12 EUR: 7 12
	// A poem: invalid_output, 3 steps
}
