package toolrun_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func TestExecuteReturnsASuspension(t *testing.T) {
	suspend := core.TicketRequest{
		ID: "s1", Action: "tool:ask", Parameters: json.RawMessage(`{"a":1}`), Response: json.RawMessage(`{"type":"string"}`),
		Mode: core.ResumeAsResult, Kind: core.TicketPerson, Timeout: time.Minute,
	}
	got, err := toolrun.Execute(t.Context(), stub{run: returns(tool.Suspended(suspend), nil)}, tool.Call{ID: "c1", Name: "stub"})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Result{ToolResult: core.ToolResult{CallID: "c1", Name: "stub"}, Suspend: &suspend}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b state.Command) bool { return a.IsZero() == b.IsZero() })); diff != "" {
		t.Error(diff)
	}
}

func TestExecuteRefusesASuspensionThatIsNone(t *testing.T) {
	const besides = "execution failed: a result that suspends the call has something else besides"
	with := func(change func(r *tool.Result)) tool.Result {
		r := tool.Suspended(core.TicketRequest{})
		change(&r)
		return r
	}
	tests := []struct {
		name   string
		result tool.Result
		want   string
	}{
		{"with data", with(func(r *tool.Result) { r.Data = json.RawMessage("1") }), besides},
		{"with an error", with(func(r *tool.Result) { r.Err = errors.New("metadata") }), "execution failed: metadata"},
		{"with a message", with(func(r *tool.Result) { r.Message = "wait" }), besides},
		{"that is an error", with(func(r *tool.Result) { r.IsError = true }), besides},
		{"with a status", with(func(r *tool.Result) { r.Status = core.ResultOK }), besides},
		{"with a command", with(func(r *tool.Result) { r.Command.Effects = []state.Effect{{Key: "mail"}} }), besides},
		{"an id that is no name", with(func(r *tool.Result) { r.Suspend.ID = "a#b" }),
			`execution failed: suspension id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a mode that does not exist", with(func(r *tool.Result) { r.Suspend.Mode = "later" }), `execution failed: resume mode "later" does not exist`},
		{"a kind that does not exist", with(func(r *tool.Result) { r.Suspend.Kind = "robot" }), `execution failed: ticket kind "robot" does not exist`},
		{"a timeout in the past", with(func(r *tool.Result) { r.Suspend.Timeout = -time.Second }),
			"execution failed: the suspension's timeout is -1s, want 0 (none) or more"},
		{"parameters that are not JSON", with(func(r *tool.Result) { r.Suspend.Parameters = json.RawMessage("{") }),
			"execution failed: the suspension's parameters are not JSON"},
		{"a response schema that is not JSON", with(func(r *tool.Result) { r.Suspend.Response = json.RawMessage("{") }),
			"execution failed: the suspension's response schema: not a JSON Schema: unexpected end of JSON input"},
		{"texts over the limit", with(func(r *tool.Result) { r.Suspend.Message = strings.Repeat("x", 1048577) }),
			"execution failed: result is larger than 1048576 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), stub{run: returns(test.result, nil)}, tool.Call{ID: "c1", Name: "stub"})
			if err != nil {
				t.Fatal(err)
			}
			want := core.ToolResult{CallID: "c1", Name: "stub", Message: test.want, IsError: true, Status: core.ResultError}
			if diff := cmp.Diff(want, got.ToolResult); diff != "" || got.Suspend != nil {
				t.Errorf("suspends: %t (-want +got):\n%s", got.Suspend != nil, diff)
			}
		})
	}
}

func TestCheckTicketRequestRefusesASchemaThatCannotBeResolved(t *testing.T) {
	err := toolcall.CheckTicketRequest(core.TicketRequest{Response: json.RawMessage(`{"$ref":"#/$defs/none"}`)})
	if core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("got %v, want an error with code invalid", err)
	}
	if err := toolcall.CheckTicketRequest(core.TicketRequest{}); err != nil {
		t.Errorf("a suspension that says nothing is refused: %v", err)
	}
}
