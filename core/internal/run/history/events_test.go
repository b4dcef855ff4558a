package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

func TestResultEvents(t *testing.T) {
	tests := []struct {
		result core.ToolResult
		want   string
	}{
		{core.ToolResult{Data: json.RawMessage(`{"a":1}`)}, `{"a":1} false`},
		{core.ToolResult{Data: json.RawMessage(`{"a":1}`), Message: "one"}, `{"a":1} false`},
		{core.ToolResult{Message: "one"}, `"one" false`},
		{core.ToolResult{Message: "one", IsError: true}, `{"error":"one"} true`},
		{core.ToolResult{Data: json.RawMessage(`{"a":1}`), IsError: true}, `{"error":"{\"a\":1}"} true`},
	}
	for _, tt := range tests {
		e := resultEvent(&thread.Entry{Message: &core.Message{ToolResult: &tt.result}})
		if diff := cmp.Diff(tt.want, fmt.Sprintf("%s %v", e.Result, e.IsError)); diff != "" {
			t.Error(diff)
		}
	}
}

// What a reader is told last depends on how the run stands.
func TestReplayEndsAsTheRunStands(t *testing.T) {
	id := core.ID{1}
	for status, want := range map[core.RunStatus]string{
		core.RunDone:    "run_finish ok natural_end",
		core.RunWaiting: "run_finish  suspended",
		core.RunRunning: "run_yield  ",
	} {
		var got []string
		r := NewReplayer(core.Run{ID: id}, func(e core.Event) error {
			line := string(e.Type) + " " + e.Response + " "
			if e.Termination != nil {
				line += string(e.Termination.Type)
			}
			got = append(got, strings.TrimPrefix(e.Position, id.String()+".")+" "+line)
			return nil
		})
		for _, entry := range []thread.Entry{
			{Run: core.ID{2}, Message: &core.Message{Role: core.RoleAssistant}}, // another run's
			{Run: id}, // a step record
			{Run: id, Message: &core.Message{Role: core.RoleUser}},                                              // a reader knows what was asked
			{Run: id, Message: &core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: "ok"}}}, // its turn is in an earlier page
		} {
			if err := r.Add(entry); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Finish(core.Run{ID: id, Status: status, Response: "ok", Termination: &core.Termination{Type: core.TerminationNatural}}); err != nil {
			t.Fatal(err)
		}
		last := got[len(got)-1]
		if len(got) != 3 || got[1] != "1.0.0-0-j tool_call_done  " || last[strings.Index(last, " ")+1:] != want {
			t.Errorf("a run that is %s ends with %q, want %q last", status, got, want)
		}
	}
}
