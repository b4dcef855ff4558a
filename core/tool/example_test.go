package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool is a function of its arguments. What the model gets wrong comes back
// to it, so that it can mend the call.
func Example() {
	type roll struct {
		Sides int `json:"sides" jsonschema:"sides of the die"`
	}
	dice := tool.New(tool.Spec{Name: "roll", Description: "Rolls a die."},
		func(_ context.Context, _ tool.Call, args roll) (map[string]int, error) {
			return map[string]int{"sides": args.Sides, "rolled": 4}, nil
		})
	fmt.Println(string(dice.Spec().Parameters))

	call := tool.Call{ID: "call_1", Name: "roll", Arguments: json.RawMessage(`{"sides":6}`)}
	result, err := dice.Run(context.Background(), call)
	fmt.Println(result.Text(), err)
	fmt.Println(dice.Check(json.RawMessage(`{"side":6}`)))
	// Output:
	// {"type":"object","properties":{"sides":{"type":"integer","description":"sides of the die"}},"required":["sides"],"additionalProperties":false}
	// {"rolled":4,"sides":6} <nil>
	// property "sides" is missing
}

// A tool asks for a confirmation before it acts. With the decision it runs again.
func ExampleSuspended() {
	type deploy struct {
		To string `json:"to"`
	}
	tools := tool.New(tool.Spec{Name: "deploy"}, func(_ context.Context, call tool.Call, args deploy) (tool.Result, error) {
		if call.Resume == nil {
			return tool.Suspended(core.TicketRequest{Action: "tool:deploy", Message: "Deploy to " + args.To + "?"}), nil
		}
		return tool.NewResult("deployed to " + args.To), nil
	})
	call := tool.Call{ID: "call_1", Name: "deploy", Arguments: json.RawMessage(`{"to":"production"}`)}
	result, err := tools.Run(context.Background(), call)
	fmt.Println(result.Suspend.Message, err)

	call.Resume = &core.Resume{Decision: core.Decision{ID: "d1", Action: core.DecisionResume}}
	result, err = tools.Run(context.Background(), call)
	fmt.Println(result.Text(), err)
	// Output:
	// Deploy to production? <nil>
	// "deployed to production" <nil>
}

// A tool without code: the client finds out where it is, and sends it as the
// decision.
func ExampleNewClient() {
	type request struct {
		Precise bool `json:"precise"`
	}
	where := tool.NewClient[request](tool.Spec{Name: "location", Description: "Where the user is."})
	call := tool.Call{ID: "call_1", Name: "location", Arguments: json.RawMessage(`{"precise":true}`)}
	result, err := where.Run(context.Background(), call)
	fmt.Println(result.Suspend.Kind, result.Suspend.Mode, result.Suspend.Action, string(result.Suspend.Parameters), err)
	// Output:
	// client use_decision_as_tool_result tool:location {"precise":true} <nil>
}

// A call of two parts that runs again after its first part was finished. What
// keeps the parts is the runtime's; here it is a map.
func ExampleCall_Once() {
	call := tool.Call{Idempotency: "run/2/0", Parts: parts{kept: map[string]json.RawMessage{}}}
	trip := func(worksToday bool) error {
		_, err := call.Once(context.Background(), "flight", func(context.Context) (json.RawMessage, error) {
			fmt.Println("books the flight under", call.Key())
			return json.RawMessage(`{"seat":"12A"}`), nil
		})
		if err != nil || !worksToday {
			return err
		}
		_, err = call.Once(context.Background(), "hotel", func(context.Context) (json.RawMessage, error) {
			fmt.Println("books the hotel under", call.Key())
			return json.RawMessage(`{"room":7}`), nil
		})
		return err
	}
	fmt.Println(trip(false), trip(true))
	// Output:
	// books the flight under run/2/0
	// books the hotel under run/2/0
	// <nil> <nil>
}

// A tool with a time of its own. Its context ends then; a tool that hands its
// context on returns at once.
func ExampleSpec_timeout() {
	fetch := tool.New(tool.Spec{Name: "fetch", Timeout: 10 * time.Second},
		func(ctx context.Context, _ tool.Call, _ struct{}) (string, error) {
			select { // a request made with ctx does the same
			case <-ctx.Done():
				return "", ctx.Err()
			default:
				return "fetched", nil
			}
		})
	fmt.Println(fetch.Spec().Timeout)
	// Output:
	// 10s
}
