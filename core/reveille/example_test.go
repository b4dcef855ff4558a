package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// city is what the tool of these examples takes.
type city struct {
	Name string `json:"name" jsonschema:"of the city, such as Oslo"`
}

// forecast is a tool that only reads.
var forecast = reveille.NewTool(reveille.ToolSpec{Name: "weather", Description: "Tells the weather.", ReadOnly: true},
	func(_ context.Context, _ reveille.Call, c city) (string, error) { return "sunny in " + c.Name, nil })

// guide returns the parts of an agent with one tool. Its model does what it is told; that of
// a provider takes its place elsewhere.
func guide(tools ...reveille.Tool) reveille.Parts {
	return reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "Be brief."}},
		Models: reveille.Models{"m": {Model: reveilletest.Rules()}},
		Tools:  tools,
	}
}

func ExampleNew() {
	r, err := reveille.New(guide(forecast), nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: `call: weather {"name":"Oslo"}`})
	fmt.Println(result.Text, err)

	result, err = r.Run(context.Background(), result.Next("Thank you!"))
	fmt.Println(result.Text, err)
	// Output:
	// The result of weather: sunny in Oslo <nil>
	// You said: Thank you! <nil>
}

// What is wrong with the parts is said before anything runs.
func ExampleNew_errors() {
	_, err := reveille.New(reveille.Parts{Specs: []reveille.AgentSpec{{ID: "guide", Model: "none"}}}, nil)
	fmt.Println(err)
	// Output: build host: resolving agent "guide": model "none" not found, known are: none
}

func ExampleRuntime_Events() {
	r, err := reveille.New(guide(forecast), nil)
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Events(context.Background(), reveille.Input{Text: `call: weather {"name":"Rome"}`}) {
		if err != nil {
			log.Fatal(err)
		}
		switch e.Type {
		case reveille.EventToolCallReady:
			fmt.Println("calls", e.Name, string(e.Arguments))
		case reveille.EventToolCallDone:
			fmt.Println("reads", string(e.Result))
		case reveille.EventTextDelta:
			fmt.Print(e.Delta)
		case reveille.EventRunFinish:
			fmt.Println()
		}
	}
	// Output:
	// calls weather {"name":"Rome"}
	// reads "sunny in Rome"
	// The result of weather: sunny in Rome
}

// A call that waits for a person: what is asked, the decision, and the rest of the run.
func ExampleRuntime_Decide() {
	refund := reveille.NewTool(reveille.ToolSpec{Name: "refund", Description: "Refunds an order.", Approval: "May the agent refund?"},
		func(context.Context, reveille.Call, struct{}) (string, error) { return "refunded", nil })
	r, err := reveille.New(guide(refund), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	result, err := r.Run(ctx, reveille.Input{Text: "call: refund"})
	fmt.Println(result.Termination.Type == reveille.TerminationSuspended, err)
	for a, err := range r.Approvals(ctx) {
		fmt.Println(a.Ticket.Suspension.Message, a.RunID == result.Run.ID, err)
	}
	if err := r.Decide(ctx, result.Run.ID, reveille.Approve(result.Tickets[0])); err != nil {
		log.Fatal(err)
	}
	result, err = r.Wait(ctx, result.Run.ID)
	fmt.Println(result.Text, result.Termination.Type == reveille.TerminationNatural, err)
	// Output:
	// true <nil>
	// May the agent refund? true <nil>
	// The result of refund: refunded true <nil>
}

// Submitted input is stored, and worked by Work or by whoever waits.
func ExampleRuntime_Submit() {
	r, err := reveille.New(guide(), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	var receipt reveille.Receipt
	receipt, err = r.Submit(ctx, reveille.Input{Text: "hello", Thread: "t1", Key: "k1", Mode: reveille.ModeReject})
	if err != nil {
		log.Fatal(err)
	}
	_, err = r.Submit(ctx, reveille.Input{Text: "and I", Thread: "t1", Mode: reveille.ModeReject})
	fmt.Println(reveille.CodeOf(err) == reveille.CodeBusy)

	result, err := r.Wait(ctx, receipt.RunID)
	fmt.Println(result.Text, err)
	for e, err := range r.Follow(ctx, receipt.RunID) {
		if e.Type == reveille.EventTextDelta || err != nil {
			fmt.Println(e.Delta, err)
		}
	}
	run, err := r.ReadRun(ctx, receipt.RunID)
	fmt.Println(run.Status, run.Steps, err)
	// Output:
	// true
	// You said: hello <nil>
	// You said: hello <nil>
	// done 1 <nil>
}

// Each user of each tenant has threads of their own.
func ExampleRuntime_As() {
	r, err := reveille.New(guide(), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ann, bob := r.As(reveille.Identity{Tenant: "shop", User: "ann"}), r.As(reveille.Identity{Tenant: "shop", User: "bob"})
	result, err := ann.Run(ctx, reveille.Input{Text: "hello", Thread: "t1"})
	if err != nil {
		log.Fatal(err)
	}
	for t, err := range ann.Threads(ctx, reveille.ThreadQuery{}) {
		fmt.Println(t.ID, t.Messages, err)
	}
	for m, err := range ann.Messages(ctx, "t1") {
		fmt.Println(m.Role, m.Text(), err)
	}
	_, err = bob.Thread(ctx, "t1")
	fmt.Println(reveille.CodeOf(err) == reveille.CodeNotFound)
	fmt.Println(bob.Cancel(ctx, result.Run.ID) != nil, ann.DeleteThread(ctx, "t1"))

	id, err := reveille.ParseID(result.Run.ID.String())
	fmt.Println(id == result.Run.ID, err)
	// Output:
	// t1 2 <nil>
	// user hello <nil>
	// assistant You said: hello <nil>
	// true
	// true <nil>
	// true <nil>
}
