package reveille_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// remind is a tool that waits as long as the model asks.
var remind = reveille.NewTool(reveille.ToolSpec{Name: "remind", Description: "Waits, and then says so."},
	func(_ context.Context, call reveille.Call, a struct {
		Seconds float64 `json:"seconds" jsonschema:"how long to wait"`
	}) (reveille.ToolResult, error) {
		switch {
		case call.Resume == nil:
			at := call.Now.Add(time.Duration(a.Seconds * float64(time.Second)))
			return reveille.Suspended(reveille.TicketRequest{Kind: core.TicketTimer, WakeAt: at}), nil
		case call.Resume.Decision.Woken():
			return reveille.NewResult("the time has come"), nil
		}
		return reveille.NewResult("a person was earlier"), nil
	})

// A tool can wait for a time. While the call waits, no process is held for it; Run waits until the
// run has ended. A person can wake the call early with a decision.
func ExampleSuspended_timer() {
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{ID: "clerk", Model: "m"}},
		Models: reveille.Models{"m": {Model: reveilletest.Script(
			reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("remind", map[string]float64{"seconds": 0.01})}},
			reveilletest.Turn{Text: "Good morning."},
		)}},
		Tools: []reveille.Tool{remind},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	done, err := r.Run(context.Background(), reveille.Input{Text: "wake me"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Messages[len(done.Messages)-2].ToolResult.Text())
	fmt.Println(done.Text)
	// Output:
	// "the time has come"
	// Good morning.
}
