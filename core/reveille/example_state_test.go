package reveille_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// The state of a notebook. It outlives the process, and every hook sees it as it was
// committed.
var (
	steps   = reveille.Counter("steps", reveille.ScopeRun)
	topic   = reveille.Value[string]("topic", reveille.ScopeThread)
	heard   = reveille.List[string]("heard", reveille.ScopeThread)
	results = reveille.Map[json.RawMessage]("results", reveille.ScopeThread)
	tries   = reveille.Counter("tries", reveille.ScopeCall)
	tidy    = reveille.Action[int]{Phase: core.PhaseStepEnd, Name: "notebook.tidy"}
)

// read returns a key's value, or its zero value.
func read[V, U any](k reveille.Key[V, U], s reveille.Snapshot) V {
	v, err := k.Read(s)
	if err != nil {
		log.Print(err)
	}
	return v
}

var notebook = reveille.NewPlugin("notebook", func(r *reveille.Registrar) error {
	r.Key(steps)
	r.Key(topic)
	r.Key(heard)
	r.Key(results)
	r.Key(tries)
	r.OnStepStart(func(context.Context, reveille.StepStart) (reveille.Command, error) { return steps.Update(1), nil })
	r.OnAfterInference(func(_ context.Context, c reveille.AfterInference) (reveille.Command, error) {
		return heard.Update(c.Turn.Text()), nil
	})
	r.Gate(func(_ context.Context, c reveille.GateCall) (reveille.Verdict, error) {
		known, ok, err := results.Member(c.Snapshot, c.Call.Name)
		if err != nil || !ok {
			return reveille.Allow, err
		}
		return reveille.SetResult(reveille.NewResult(known)), nil // it was called before
	})
	r.OnBeforeTool(func(context.Context, reveille.BeforeTool) (reveille.Command, error) { return tries.Update(1), nil })
	r.OnAfterTool(func(_ context.Context, c reveille.AfterTool) (reveille.Command, error) {
		return results.Put(c.Call.Name, c.Result.Data), nil
	})
	r.OnStepEnd(func(_ context.Context, c reveille.StepEnd) (reveille.Command, error) {
		return tidy.Schedule(len(read(heard, c.Snapshot))), nil
	})
	tidy.Handle(r, func(_ context.Context, _ reveille.HandlerContext, n int) (reveille.Command, error) {
		return reveille.Set(topic, fmt.Sprintf("%d turns", n)), nil
	})
	r.OnRunEnd(func(_ context.Context, c reveille.RunEnd) (reveille.Command, error) {
		fmt.Println("ends:", c.Termination.Type == reveille.TerminationNatural, read(steps, c.Snapshot), "steps")
		return reveille.Command{}, nil
	})
	return nil
})

// A plugin with state of each scope, in hooks of each phase.
func ExampleKey() {
	ran := 0
	find := reveille.NewTool(reveille.ToolSpec{Name: "find", ReadOnly: true}, func(_ context.Context, call reveille.Call, _ struct{}) (reveille.ToolResult, error) {
		ran++
		return reveille.NewResult(fmt.Sprint("found at try ", read(tries, call.Snapshot))), nil
	})
	call := reveilletest.Turn{Text: "I look.", Calls: []reveille.ToolCall{reveilletest.Call("find", nil)}}
	r, err := reveille.New(reveille.Parts{
		Specs:   []reveille.AgentSpec{{ID: "writer", Model: "m", Plugins: []string{"notebook"}}},
		Models:  reveille.Models{"m": reveille.ModelBinding{Model: reveilletest.Script(call, call, reveilletest.Turn{Text: "There."})}},
		Tools:   []reveille.Tool{find},
		Plugins: []reveille.Plugin{notebook},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "Where?"})
	fmt.Println(result.Text, ran, "run of the tool", err)
	found, _, err := results.Member(result.State, "find")
	fmt.Println(read(topic, result.State), read(heard, result.State), string(found), err)
	// Output:
	// ends: true 3 steps
	// There. 1 run of the tool <nil>
	// 3 turns [I look. I look. There.] "found at try 1" <nil>
}
