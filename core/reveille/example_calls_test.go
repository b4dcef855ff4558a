package reveille_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// ask is a tool that asks a person, and goes on with the reply.
func ask(_ context.Context, call reveille.Call, a struct {
	Question string `json:"question"`
}) (reveille.ToolResult, error) {
	if call.Resume == nil {
		return reveille.Suspended(reveille.TicketRequest{Message: a.Question, Response: json.RawMessage(`{"type":"string"}`)}), nil
	}
	return reveille.NewResult(call.Resume.Decision.Payload), nil
}

// pay is a tool that fails for good.
func pay(context.Context, reveille.Call, struct{}) (string, error) {
	return "", reveille.Fatal(errors.New("the bank has closed the account"))
}

// A call may be denied, replied to, or end the run.
func ExampleSuspended() {
	turn := func(calls ...reveille.ToolCall) reveilletest.Turn { return reveilletest.Turn{Calls: calls} }
	question := reveilletest.Call("ask", map[string]string{"question": "Which account?"})
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "clerk", Model: "m"}},
		Models: reveille.Models{"m": {Model: reveilletest.Script(turn(question), turn(question), turn(reveilletest.Call("pay", nil)))}},
		Tools: []reveille.Tool{
			reveille.NewTool(reveille.ToolSpec{Name: "ask"}, ask), reveille.NewTool(reveille.ToolSpec{Name: "pay", AtMostOnce: true}, pay),
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for e, err := range r.Events(ctx, reveille.Input{Text: "pay", Thread: "t1"}) {
		if err != nil {
			log.Fatal(err)
		}
		show(e)
	}
	decide := func(decision func(reveille.Ticket) reveille.Decision) (reveille.Result, error) {
		for a := range r.Approvals(ctx) {
			if err := r.Decide(ctx, a.RunID, decision(a.Ticket)); err != nil {
				return reveille.Result{}, err
			}
			return r.Wait(ctx, a.RunID)
		}
		return reveille.Result{}, errors.New("no call waits")
	}
	_, err = decide(func(t reveille.Ticket) reveille.Decision { return reveille.Deny(t, "ask again") })
	fmt.Println(err)
	result, err := decide(func(t reveille.Ticket) reveille.Decision { return reveille.Reply(t, json.RawMessage(`"the second"`)) })
	var failed *reveille.RunError
	fmt.Println(errors.As(err, &failed), failed.Termination.Code, strings.Contains(fmt.Sprint(errors.Unwrap(failed)), "the bank has closed the account"))
	fmt.Println(result.Termination.Type == reveille.TerminationError, result.Usage.Input > 0)
	// Output:
	// waits: Which account?
	// <nil>
	// true tool true
	// true true
}

// show prints the events of calls that wait.
func show(e reveille.Event) {
	if e.Type == reveille.EventToolCallSuspended {
		fmt.Println("waits:", e.Ticket.Suspension.Message)
	}
}
