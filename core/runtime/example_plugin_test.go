package runtime_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

var runs = state.Counter("runs", state.ScopeThread)

// clerk counts the runs of a thread, tells the model of them, and lets nobody shred.
type clerk struct{}

func (clerk) ID() string { return "clerk" }

func (clerk) Register(r *plugin.Registrar) error {
	r.Key(runs)
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) { return runs.Update(1), nil })
	r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) {
		n, err := runs.Read(c.Snapshot)
		text := fmt.Sprintf("You have been asked %d times.", n)
		return plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "runs", Text: text}), err
	})
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		if c.Call.Name == "shred" {
			return plugin.Block("nothing is shredded here"), nil
		}
		return plugin.Allow, nil
	})
	return nil
}

func Example_plugin() {
	shred := tool.New(tool.Spec{Name: "shred", Description: "Shreds it all."}, func(context.Context, tool.Call, struct{}) (string, error) { return "gone", nil })
	r, err := runtime.New(agent.Parts{
		Specs:   []agent.Spec{{ID: "office", Model: "scripted", Plugins: []string{"clerk"}}},
		Models:  map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}},
		Tools:   []tool.Tool{shred},
		Plugins: []plugin.Plugin{clerk{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), "office", "call: shred")
	n, _ := runs.Read(result.State)
	fmt.Println(n, result.Termination.Type, result.Termination.Detail, err)
	// Output: 1 blocked nothing is shredded here <nil>
}
