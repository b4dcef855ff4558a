package demo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

func TestDangerCountsItsExecutionsByText(t *testing.T) {
	danger := named(t, "danger")
	if spec := danger.Spec(); spec.ReadOnly {
		t.Error("danger calls itself read-only")
	}
	for _, call := range []struct{ key, arguments, want string }{
		{"run/2/0", `{"text":"ship it"}`, `{"text":"ship it","executions":1}`},
		{"run/4/0", `{"text":"ship it"}`, `{"text":"ship it","executions":2}`},
		{"run/2/0", `{"text":"ship it"}`, `{"text":"ship it","executions":1}`}, // again, after a crash
		{"run/6/0", `{"text":"drop it"}`, `{"text":"drop it","executions":1}`},
	} {
		got, err := tool.Execute(t.Context(), danger, tool.Call{ID: "c", Name: "danger", Idempotency: call.key, Arguments: []byte(call.arguments)})
		if err != nil || string(got.Data) != call.want {
			t.Errorf("%s: %s, %v; want %s", call.arguments, got.Data, err, call.want)
		}
	}
}

func TestDangerWaitsForAPersonAndNothingElseDoes(t *testing.T) {
	parts, err := demo.Parts(map[string]agent.ModelBinding{"default": {Model: model.None{}}})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := agent.NewRegistry(parts)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := registry.Resolve("demo")
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(name string, resume *core.Resume) plugin.Verdict {
		t.Helper()
		call := core.ToolCall{ID: "c", Name: name, Arguments: []byte(`{"text":"x"}`)}
		v, err := resolved.Engine.Gate(t.Context(), plugin.Moment{
			Context: plugin.Context{Run: core.ID{15: 1}, Step: 1}, Turn: &core.Message{}, Call: &call, Resume: resume,
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, name := range []string{"echo", "ask_user", "set_state"} {
		if got := verdict(name, nil); got.Kind != plugin.VerdictAllow {
			t.Errorf("%s: verdict %d, want allow", name, got.Kind)
		}
	}
	asked := verdict("danger", nil)
	want := &core.TicketRequest{
		ID: "00000000-0000-0000-0000-000000000001.1.0.permission", Action: "tool:PermissionConfirm",
		Message: "May the agent use the tool danger?", Parameters: []byte(`{"tool":"danger","arguments":{"text":"x"}}`),
		Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}
	if diff := cmp.Diff(want, asked.Suspend); asked.Kind != plugin.VerdictSuspend || diff != "" {
		t.Fatalf("danger: verdict %d (-want +got):\n%s", asked.Kind, diff)
	}
	granted := &core.Resume{Suspension: want.ID, Decision: core.Decision{Action: core.DecisionResume}}
	if got := verdict("danger", granted); got.Kind != plugin.VerdictAllow {
		t.Errorf("danger, granted: verdict %d, want allow", got.Kind)
	}
}

func TestAskUserWaitsForTheClient(t *testing.T) {
	ask := named(t, "ask_user")
	got, err := tool.Execute(t.Context(), ask, tool.Call{ID: "c", Name: "ask_user", Arguments: []byte(`{"question":"when?"}`)})
	if err != nil || got.Suspend == nil {
		t.Fatalf("%+v, %v; want it suspended", got, err)
	}
	want := &core.TicketRequest{
		Action: "tool:ask_user", Parameters: []byte(`{"question":"when?"}`),
		Mode: core.ResumeAsResult, Kind: core.TicketClient,
	}
	if diff := cmp.Diff(want, got.Suspend); diff != "" {
		t.Errorf("suspension (-want +got):\n%s", diff)
	}
	if got, err = tool.Execute(t.Context(), ask, tool.Call{ID: "c", Name: "ask_user", Arguments: []byte(`{}`)}); err != nil || !got.IsError {
		t.Errorf("without a question: %+v, %v; want an error result", got, err)
	}
}
