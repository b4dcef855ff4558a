package hosttest

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// parts are an agent that counts its steps in the thread's state. Its responses do not
// depend on the process that takes a step.
func parts(t *testing.T) agent.Parts {
	t.Helper()
	count := tool.New(tool.Spec{Name: "count", Description: "Returns the number of earlier steps."},
		func(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
			n, err := steps.Read(call.Snapshot)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.NewResult(n), nil
		})
	return agent.Parts{
		Models:  map[string]agent.ModelBinding{"scripted": {Model: narrator{}}},
		Tools:   []tool.Tool{count},
		Plugins: []plugin.Plugin{stepCounter{}},
		Specs:   []agent.Spec{{ID: "counter", Model: "scripted", Plugins: []string{"step-counter"}}},
	}
}

var steps = state.Key[int, int]{Name: "steps", Scope: state.ScopeThread, Commutative: true,
	Apply: func(taken, more int) int { return taken + more }}

// stepCounter counts every step when it ends.
type stepCounter struct{}

func (stepCounter) ID() string { return "step-counter" }

func (stepCounter) Register(r *plugin.Registrar) error {
	r.Key(steps)
	r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return steps.Update(1), nil })
	return nil
}

// narrator is a model that numbers its turns. The fifth and the seventh end a
// run, the others call the tool.
type narrator struct{}

// Stream implements model.Model.
func (narrator) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	turn := 1
	for _, m := range request.Messages {
		if m.Role == core.RoleAssistant {
			turn++
		}
	}
	deltas := []model.Delta{{Type: model.DeltaText, Text: fmt.Sprintf("turn %d", turn)}}
	stop := core.StopEndTurn
	if turn != 5 && turn != 7 {
		deltas = append(deltas,
			model.Delta{Type: model.DeltaToolStart, Name: "count", CallID: fmt.Sprint("call-", turn)},
			model.Delta{Type: model.DeltaToolArgument, Text: "{}"})
		stop = core.StopToolUse
	}
	deltas = append(deltas, model.Delta{Type: model.DeltaStop, Stop: stop})
	return func(yield func(model.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}
