package toolrun_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// whole compares JSON at once: a megabyte takes long, byte by byte.
var whole = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

func TestResultsWithMetadata(t *testing.T) {
	tests := []struct {
		name   string
		result tool.Result
		want   core.ToolResult
	}{
		{"values", tool.NewResult("ok").WithMetadata("pages", 3).WithMetadata("source", map[string]string{"url": "<a>"}), core.ToolResult{
			Data: json.RawMessage(`"ok"`), Status: core.ResultOK,
			Metadata: map[string]json.RawMessage{"pages": json.RawMessage("3"), "source": json.RawMessage(`{"url":"<a>"}`)}}},
		{"of an error", tool.Failed("no").WithMetadata("code", 7), core.ToolResult{
			Message: "no", IsError: true, Status: core.ResultError, Metadata: map[string]json.RawMessage{"code": json.RawMessage("7")}}},
		{"alone", tool.Result{}.WithMetadata("a", 1), core.ToolResult{
			Data: json.RawMessage("null"), Status: core.ResultOK, Metadata: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
		{"that JSON cannot express", tool.NewResult("ok").WithMetadata("f", func() {}), core.ToolResult{
			Message: `execution failed: metadata "f": json: unsupported type: func()`, IsError: true, Status: core.ResultError}},
		{"that is not JSON", tool.Result{ToolResult: core.ToolResult{Metadata: map[string]json.RawMessage{"b": nil, "c": json.RawMessage("{")}}}, core.ToolResult{
			Message: `execution failed: the result's metadata "b" is not JSON under a name`, IsError: true, Status: core.ResultError}},
		{"without a name", tool.NewResult("ok").WithMetadata("", 1), core.ToolResult{
			Message: `execution failed: the result's metadata "" is not JSON under a name`, IsError: true, Status: core.ResultError}},
		{"an error of the tool's own", tool.Result{Err: errors.New("offline")}, core.ToolResult{
			Message: "execution failed: offline", IsError: true, Status: core.ResultError}},
		{"at the limit", tool.NewResult("ok").WithMetadata("a", strings.Repeat("x", 1<<20-4-1-2)), core.ToolResult{
			Data: json.RawMessage(`"ok"`), Status: core.ResultOK,
			Metadata: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("x", 1<<20-4-1-2) + `"`)}}},
		{"over it", tool.NewResult("ok").WithMetadata("a", strings.Repeat("x", 1<<20-4-1-1)), core.ToolResult{
			Message: "execution failed: result is larger than 1048576 bytes", IsError: true, Status: core.ResultError}},
		{"of a call that waits", tool.Suspended(core.TicketRequest{}).WithMetadata("a", 1), core.ToolResult{
			Message: "execution failed: a result that suspends the call has something else besides", IsError: true, Status: core.ResultError}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), stub{run: returns(tt.result, nil)}, tool.Call{ID: "c1", Name: "stub"})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.CallID, tt.want.Name = "c1", "stub"
			if diff := cmp.Diff(tt.want, got.ToolResult, whole); diff != "" {
				t.Errorf("(-want +got):\n%s", core.Excerpt(diff))
			}
		})
	}
}
