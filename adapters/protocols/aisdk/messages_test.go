package aisdk_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

func TestAThreadIsReadAsUIMessages(t *testing.T) {
	other := core.ID{15: 9}
	text := func(s string) []core.Block { return []core.Block{{Type: core.BlockText, Text: s}} }
	call := func(id, name, arguments string) core.ToolCall {
		return core.ToolCall{ID: id, Name: name, Arguments: []byte(arguments)}
	}
	result := func(r core.ToolResult) core.Message {
		return core.Message{Role: core.RoleTool, RunID: runID, ToolResult: &r}
	}
	thread := []core.Message{
		{ID: "m1", Role: core.RoleUser, RunID: runID, Content: text("<hi>")},
		{ID: "x.1", Role: core.RoleAssistant, RunID: runID, Step: 1, Content: []core.Block{{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: "wait"}},
			ToolCalls: []core.ToolCall{call("c1", "echo", `{"text":"a"}`), call("c2", "echo", ``), call("c2", "echo", `{}`), call("c3", "ask_user", `{"question":"?"}`)}},
		result(core.ToolResult{CallID: "c1", Name: "echo", Data: []byte(`{"text":"a"}`)}),
		result(core.ToolResult{CallID: "c2", Name: "echo", Data: []byte(`{"error":"no text"}`), IsError: true}),
		result(core.ToolResult{CallID: "c2", Name: "echo", Message: "no text at all", IsError: true}),
		{ID: "m2", Role: core.RoleUser, RunID: runID, Content: text("steer")},
		{ID: "x.2", Role: core.RoleAssistant, RunID: runID, Step: 2, Content: text("done"), ToolCalls: []core.ToolCall{call("c1", "echo", `{}`), call("c4", "echo", `{}`)}},
		result(core.ToolResult{CallID: "c1", Name: "echo", Message: "words", Metadata: map[string]json.RawMessage{"n": []byte("3")}}),
		result(core.ToolResult{CallID: "c4", Name: "echo"}),
		result(core.ToolResult{CallID: "lost", Name: "echo"}),
		{Role: core.RoleTool, RunID: runID},
		{ID: "m3", Role: core.RoleUser, RunID: other, Content: text("more")},
		{ID: "y.1", Role: core.RoleAssistant, RunID: other, Content: text("bye")},
	}
	var asked []host.MessageQuery
	f := &fake{messages: func(id core.Identity, name string, q host.MessageQuery) (host.MessagePage, error) {
		asked = append(asked, q)
		if id != (core.Identity{Tenant: "acme", User: "ann"}) || name != "t1" {
			t.Errorf("asked for %s as %v", name, id)
		}
		return host.MessagePage{Messages: thread, Total: len(thread)}, nil
	}}
	rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	const want = `{"messages":[` +
		`{"id":"m1","role":"user","parts":[{"type":"text","text":"<hi>"}]},` +
		`{"id":"01890000-0000-7000-8000-000000000001","role":"assistant","parts":[` +
		`{"type":"step-start"},` +
		`{"type":"reasoning","text":"hm","state":"done"},` +
		`{"type":"text","text":"wait","state":"done"},` +
		`{"type":"tool-echo","state":"output-available","toolCallId":"c1","input":{"text":"a"},"output":{"text":"a"}},` +
		`{"type":"tool-echo","state":"output-error","toolCallId":"c2","input":{},"errorText":"no text"},` +
		`{"type":"tool-echo","state":"output-error","toolCallId":"c2","input":{},"errorText":"no text at all"},` +
		`{"type":"tool-ask_user","state":"input-available","toolCallId":"c3","input":{"question":"?"}},` +
		`{"type":"step-start"},` +
		`{"type":"text","text":"done","state":"done"},` +
		`{"type":"tool-echo","state":"output-available","toolCallId":"c1","input":{},"output":{"data":"words","metadata":{"n":3}}},` +
		`{"type":"tool-echo","state":"output-available","toolCallId":"c4","input":{},"output":null}]},` +
		`{"id":"m2","role":"user","parts":[{"type":"text","text":"steer"}]},` +
		`{"id":"m3","role":"user","parts":[{"type":"text","text":"more"}]},` +
		`{"id":"00000000-0000-0000-0000-000000000009","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"bye","state":"done"}]}]}` + "\n"
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
	if diff := cmp.Diff([]host.MessageQuery{{Newest: true}}, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// A history that is not whole says so.
func TestALongThreadsHistoryIsItsNewestMessages(t *testing.T) {
	m := core.UserMessage("hi").WithID("m9")
	tests := []struct {
		page host.MessagePage
		want string
	}{
		{host.MessagePage{}, ""},
		{host.MessagePage{Earlier: true}, `,"truncated":true`},
		{host.MessagePage{Earlier: true, Cut: true}, `,"truncated":true,"cut":true`},
	}
	for _, test := range tests {
		f := &fake{messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
			test.page.Messages = []core.Message{m}
			return test.page, nil
		}}
		rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", "")
		want := `{"messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]` + test.want + "}\n"
		if diff := cmp.Diff(want, rec.Body.String()); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}
}

// A page that is loaded while calls wait shows what the page before it showed.
func TestAThreadThatWaitsIsReadAsUIMessages(t *testing.T) {
	call := func(id string) core.ToolCall { return core.ToolCall{ID: id, Name: "x", Arguments: []byte(`{}`)} }
	asksFor := func(id string, d *core.Decision) core.Ticket {
		k := asks(id)
		k.CallID, k.Tool, k.Arguments, k.Decision = "c-"+id, "x", []byte(`{}`), d
		return k
	}
	givesTo := func(id string, d *core.Decision) core.Ticket {
		k := gives(id)
		k.CallID, k.Tool, k.Arguments, k.Decision = id, "x", []byte(`{}`), d
		return k
	}
	timer := func(id string, mode core.ResumeMode, d *core.Decision) core.Ticket {
		k := givesTo(id, d)
		k.Kind, k.Mode = core.TicketTimer, mode
		return k
	}
	arguments := givesTo("edited", &core.Decision{Action: core.DecisionResume, Payload: []byte(`{"n":1}`)})
	arguments.Kind, arguments.Mode = core.TicketPerson, core.ResumeAsArguments
	woken := core.Decision{ID: "wake-1", Action: core.DecisionResume, Payload: []byte(`{"woken":"time"}`)}
	tickets := []core.Ticket{
		asksFor("asked", nil),
		asksFor("granted", &core.Decision{Action: core.DecisionResume, Payload: []byte(`{"approved":true}`)}),
		asksFor("refused", &core.Decision{Action: core.DecisionCancel, Reason: "no"}),
		givesTo("wanted", nil),
		givesTo("given", &core.Decision{Action: core.DecisionResume, Payload: []byte(`"blue"`)}),
		givesTo("nothing", &core.Decision{Action: core.DecisionResume}),
		givesTo("failed", &core.Decision{Action: core.DecisionCancel, Reason: "no idea"}),
		givesTo("same", nil), asksFor("same2", nil), givesTo("elsewhere", nil), arguments,
		timer("sleeps", core.ResumeReplay, nil), timer("woken", core.ResumeReplay, &woken), timer("over", core.ResumeAsResult, &woken),
		timer("stopped", core.ResumeReplay, &core.Decision{Action: core.DecisionCancel, Reason: "too late"}),
	}
	tickets[8].CallID = "same" // an id can repeat in a turn
	turn := core.Message{ID: "x.1", Role: core.RoleAssistant, RunID: runID}
	for _, id := range []string{"done", "denied", "c-asked", "c-granted", "c-refused", "wanted", "given", "nothing", "failed", "same", "same", "sleeps", "woken", "over", "stopped", "edited"} {
		turn.ToolCalls = append(turn.ToolCalls, call(id))
	}
	later := core.UserMessage("are you there?").WithID("m2")
	later.Pending = true
	thread := []core.Message{
		core.UserMessage("hi").WithID("m1"), turn,
		{Role: core.RoleTool, RunID: runID, ToolResult: &core.ToolResult{CallID: "done", Data: []byte(`1`), Status: core.ResultOK}},
		{Role: core.RoleTool, RunID: runID, ToolResult: &core.ToolResult{CallID: "denied", Message: "denied: no", IsError: true, Status: core.ResultDenied}},
		later,
	}
	f := &fake{run: waitsWith(tickets...), messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
		return host.MessagePage{Messages: thread, Total: len(thread)}, nil
	}}
	rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	part := func(id, state, rest string) string {
		return `{"type":"tool-x","state":"` + state + `","toolCallId":"` + id + `","input":{}` + rest + `}`
	}
	want := `{"messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]},{"id":"` + runText + `","role":"assistant","parts":[{"type":"step-start"},` +
		part("done", "output-available", `,"output":1`) + "," +
		part("denied", "output-denied", `,"approval":{"id":"denied","approved":false}`) + "," +
		part("c-asked", "approval-requested", `,"approval":{"id":"asked"}`) + "," +
		part("c-granted", "approval-responded", `,"approval":{"id":"granted","approved":true}`) + "," +
		part("c-refused", "approval-responded", `,"approval":{"id":"refused","approved":false,"reason":"no"}`) + "," +
		part("wanted", "input-available", ``) + "," +
		part("given", "output-available", `,"output":"blue"`) + "," +
		part("nothing", "output-available", `,"output":null`) + "," +
		part("failed", "output-error", `,"errorText":"no idea"`) + "," +
		part("same", "input-available", ``) + "," +
		part("same", "approval-requested", `,"approval":{"id":"same2"}`) + "," +
		part("sleeps", "input-available", ``) + "," +
		part("woken", "input-available", ``) + "," +
		part("over", "output-available", `,"output":{"woken":"time"}`) + "," +
		part("stopped", "output-error", `,"errorText":"too late"`) + "," +
		part("edited", "output-available", `,"output":{"n":1}`) +
		`]},{"id":"m2","role":"user","parts":[{"type":"text","text":"are you there?"}]}]}` + "\n"
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
	f.run = func(core.ID) (core.Run, error) { return core.Run{}, core.Errorf(core.CodeUnavailable, "table") }
	if rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", ""); rec.Code != 503 {
		t.Errorf("without the run: response %d %s", rec.Code, rec.Body)
	}
}

// The reply to what a person said instead of deciding stands behind it.
func TestInputThatTookThePlaceOfADecisionEndsAMessage(t *testing.T) {
	said := func(id string) core.Message {
		m := core.UserMessage(id).WithID(id)
		m.RunID = runID
		return m
	}
	turn := func(step int, calls ...core.ToolCall) core.Message {
		return core.Message{Role: core.RoleAssistant, RunID: runID, Step: step, ToolCalls: calls}
	}
	thread := []core.Message{
		said("m1"), turn(1), said("steered"), turn(2, core.ToolCall{ID: "c1", Name: "x"}),
		{Role: core.RoleTool, RunID: runID, ToolResult: &core.ToolResult{CallID: "c1", Message: "cancelled", IsError: true, Status: core.ResultCancelled}},
		said("m2"), said("m3"), turn(3), turn(4), said("steered too"), turn(5),
	}
	f := &fake{messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
		return host.MessagePage{Messages: thread, Total: len(thread)}, nil
	}}
	rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	var got struct {
		Messages []struct {
			ID    string
			Parts []struct{ Type string }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range got.Messages {
		lines = append(lines, fmt.Sprint(m.ID, m.Parts))
	}
	want := []string{
		"m1[{text}]", runText + "[{step-start} {step-start} {tool-x}]", "steered[{text}]",
		"m2[{text}]", "m3[{text}]", runText + ".3[{step-start} {step-start} {step-start}]", "steered too[{text}]",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestAnEmptyAndAnUnknownThread(t *testing.T) {
	empty := &fake{messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
		return host.MessagePage{}, nil
	}}
	rec := do(newServer(t, empty), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	if rec.Code != 200 || rec.Body.String() != "{\"messages\":[]}\n" {
		t.Errorf("empty: %d %s", rec.Code, rec.Body)
	}
	rec = do(newServer(t, &fake{}), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	if rec.Code != 404 || rec.Body.String() != "{\"error\":\"thread t1 not found\",\"code\":\"not_found\"}\n" {
		t.Errorf("unknown: %d %s", rec.Code, rec.Body)
	}
}
