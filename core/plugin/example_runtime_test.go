package plugin_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// examplePlugin is a plugin that is a function, to be short.
type examplePlugin func(r *plugin.Registrar)

func (examplePlugin) ID() string { return "example" }

func (p examplePlugin) Register(r *plugin.Registrar) error {
	p(r)
	return nil
}

// ask runs an agent that has the plugin and a tool.
func ask(p examplePlugin, text string) (reveille.Result, error) {
	pay := tool.New(tool.Spec{Name: "pay", Description: "Pays."}, func(context.Context, tool.Call, struct{}) (string, error) { return "paid", nil })
	r, err := reveille.New(reveille.Parts{
		Specs:   []reveille.AgentSpec{{ID: "a", Model: "m", Plugins: []string{"example"}}},
		Models:  reveille.Models{"m": {Model: scripted.Rules()}},
		Tools:   []reveille.Tool{pay},
		Plugins: []reveille.Plugin{p},
	}, nil)
	if err != nil {
		return reveille.Result{}, err
	}
	return r.Run(context.Background(), reveille.Input{Text: text})
}

// A gate decides about each call before its tool runs.
func ExampleRegistrar_Gate() {
	noPay := func(r *plugin.Registrar) {
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			if c.Call.Name == "pay" {
				return plugin.SetResult(core.ToolResult{Message: "no money today"}), nil
			}
			return plugin.Allow, nil
		})
	}
	result, err := ask(noPay, "call: pay")
	fmt.Println(result.Text, err)
	// Output: The result of pay: no money today <nil>
}

// An action of a plugin's own: a hook schedules it, and its handler runs at the phase
// that the action names, in the same step or a later one of the run.
func ExampleAction() {
	remind := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "remind"}
	reminders := state.List[string]("reminders", state.ScopeRun)
	reminder := func(r *plugin.Registrar) {
		r.Key(reminders)
		remind.Handle(r, func(_ context.Context, c plugin.HandlerContext, what string) (state.Command, error) {
			return reminders.Update(fmt.Sprintf("step %d: %s", c.Step, what)), nil
		})
		r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
			return remind.Schedule("look at " + c.Call.Name), nil
		})
	}
	result, err := ask(reminder, "call: pay")
	list, _ := reminders.Read(result.State)
	fmt.Println(list, err)
	// Output: [step 1: look at pay] <nil>
}

// An effect happens in the world, once what it came with is committed: at most once, and
// never for what was not.
func ExampleEffect() {
	mail := plugin.Effect[string]{Name: "mail"}
	mailer := func(r *plugin.Registrar) {
		mail.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) error {
			fmt.Println("mail:", text) // here a provider is called
			return nil
		})
		r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
			return mail.Emit(c.Call.Name + " was called"), nil
		})
	}
	result, err := ask(mailer, "call: pay")
	fmt.Println(result.Text, err)
	// Output:
	// mail: pay was called
	// The result of pay: paid <nil>
}
