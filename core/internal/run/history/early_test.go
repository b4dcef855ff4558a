package history_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A reader who has a turn is shown its results and tickets: in their places, as
// far as nothing is missing before them, and without a place behind that.
func TestReplayOfAnOpenRound(t *testing.T) {
	id := core.ID{1}
	result := func(i int) thread.Entry {
		return thread.Entry{Run: id, Step: 2, Message: &core.Message{
			ID: history.ResultID(id, 2, i), Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c", Name: "echo", Data: json.RawMessage(`1`)},
		}}
	}
	turn := thread.Entry{Run: id, Step: 2, Attempt: 3, Message: &core.Message{
		Role: core.RoleAssistant, Step: 2, Content: []core.Block{{Type: core.BlockText, Text: "so"}}, ToolCalls: make([]core.ToolCall, 3),
	}}
	var got []string
	r := history.NewReplayer(core.Run{ID: id, ThreadID: "t1"}, func(e core.Event) error {
		got = append(got, eventLine(t, id, e))
		return nil
	})
	if err := r.Early(0, result(0), false); err != nil { // no turn, no place
		t.Error(err)
	}
	r.Pass(turn)
	emit := []func() error{
		func() error { return r.Early(0, result(0), false) },
		func() error { return r.Early(2, result(2), true) },
		func() error {
			return r.Suspended(core.Ticket{Suspension: core.Suspension{ID: "s1", Action: "tool:echo"}, CallID: "c1", Tool: "echo", Mode: core.ResumeReplay, Kind: core.TicketPerson})
		},
		func() error { r.Pass(result(0)); return nil },
		func() error { return r.Add(result(1)) },
		func() error { return r.Add(result(2)) },
		r.Flush,
	}
	for i, f := range emit {
		if err := f(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	const done = `{"event_type":"tool_call_done","step":2,"message_id":"RUN.2.`
	want := []string{
		`1.0.0-0-a {"event_type":"run_start","run_id":"RUN","step":1,"thread_id":"t1"}`,
		`2.3.1-0-j ` + done + `0","id":"c","name":"echo","result":1,"outcome":"succeeded"}`,
		` ` + done + `2","id":"c","name":"echo","result":1,"outcome":"succeeded"}`,
		` {"event_type":"tool_call_suspended","step":2,"id":"c1","name":"echo","ticket":{"tool_call_id":"c1","tool_name":"echo","arguments":null,"suspension_id":"s1","action":"tool:echo","resume_mode":"replay_tool_call","kind":"person"}}`,
		`2.3.2-0-j ` + done + `1","id":"c","name":"echo","result":1,"outcome":"succeeded"}`,
		`2.3.3-0-j ` + done + `2","id":"c","name":"echo","result":1,"outcome":"succeeded"}`,
		`2.3.9999-0-k {"event_type":"step_end","step":2}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Whether somebody listens is the sink's to say, each time anew.
func TestReplayOfAnOpenRoundWithoutAReader(t *testing.T) {
	left := errors.New("nobody listens")
	calls := 0
	r := history.NewReplayer(core.Run{ID: core.ID{1}}, func(e core.Event) error {
		calls++
		if e.Type == core.EventToolCallSuspended {
			return left
		}
		return nil
	})
	for range 2 {
		if err := r.Suspended(core.Ticket{}); !errors.Is(err, left) {
			t.Errorf("%v, want the sink's error", err)
		}
	}
	r.Pass(thread.Entry{Run: core.ID{1}, Message: &core.Message{Role: core.RoleAssistant}})
	if calls != 3 { // run_start and the tickets; what was passed over is not emitted
		t.Errorf("the sink was called %d times, want 3", calls)
	}
}

// eventLine is an event with its position, with RUN for its run's id.
func eventLine(t *testing.T, run core.ID, e core.Event) string {
	t.Helper()
	if e.Time = 0; e.Type != core.EventRunStart {
		e.RunID = core.ID{}
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimPrefix(e.Position, run.String()+".")+" "+string(b), run.String(), "RUN")
}
