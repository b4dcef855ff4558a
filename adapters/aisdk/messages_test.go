package aisdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/runtime"
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
		{ID: "x.1", Role: core.RoleAssistant, RunID: runID, Content: []core.Block{{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: "wait"}},
			ToolCalls: []core.ToolCall{call("c1", "echo", `{"text":"a"}`), call("c2", "echo", ``), call("c2", "echo", `{}`), call("c3", "ask_user", `{"question":"?"}`)}},
		result(core.ToolResult{CallID: "c1", Name: "echo", Data: []byte(`{"text":"a"}`)}),
		result(core.ToolResult{CallID: "c2", Name: "echo", Data: []byte(`{"error":"no text"}`), IsError: true}),
		result(core.ToolResult{CallID: "c2", Name: "echo", Message: "no text at all", IsError: true}),
		{ID: "m2", Role: core.RoleUser, RunID: runID, Content: text("steer")},
		{ID: "x.2", Role: core.RoleAssistant, RunID: runID, Content: text("done"), ToolCalls: []core.ToolCall{call("c1", "echo", `{}`), call("c4", "echo", `{}`)}},
		result(core.ToolResult{CallID: "c1", Name: "echo", Message: "words"}),
		result(core.ToolResult{CallID: "c4", Name: "echo"}),
		result(core.ToolResult{CallID: "lost", Name: "echo"}),
		{Role: core.RoleTool, RunID: runID},
		{ID: "m3", Role: core.RoleUser, RunID: other, Content: text("more")},
		{ID: "y.1", Role: core.RoleAssistant, RunID: other, Content: text("bye")},
	}
	var asked []runtime.MessageQuery
	f := &fake{messages: func(id core.Identity, name string, q runtime.MessageQuery) (runtime.MessagePage, error) {
		asked = append(asked, q)
		if id != (core.Identity{Tenant: "acme", User: "ann"}) || name != "t1" {
			t.Errorf("asked for %s as %v", name, id)
		}
		if q.After == 0 {
			return runtime.MessagePage{Messages: thread[:4], Total: len(thread), Next: 7}, nil
		}
		return runtime.MessagePage{Messages: thread[4:], Total: len(thread)}, nil
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
		`{"type":"tool-echo","state":"output-available","toolCallId":"c1","input":{},"output":"words"},` +
		`{"type":"tool-echo","state":"output-available","toolCallId":"c4","input":{},"output":null}]},` +
		`{"id":"m2","role":"user","parts":[{"type":"text","text":"steer"}]},` +
		`{"id":"m3","role":"user","parts":[{"type":"text","text":"more"}]},` +
		`{"id":"00000000-0000-0000-0000-000000000009","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"bye","state":"done"}]}]}` + "\n"
	if diff := cmp.Diff(want, rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
	if diff := cmp.Diff([]runtime.MessageQuery{{Limit: 200}, {Limit: 200, After: 7}}, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestAnEmptyAndAnUnknownThread(t *testing.T) {
	empty := &fake{messages: func(core.Identity, string, runtime.MessageQuery) (runtime.MessagePage, error) {
		return runtime.MessagePage{}, nil
	}}
	rec := do(newServer(t, empty), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	if rec.Code != 200 || rec.Body.String() != "{\"messages\":[]}\n" {
		t.Errorf("empty: %d %s", rec.Code, rec.Body)
	}
	rec = do(newServer(t, &fake{}), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	if rec.Code != 404 || rec.Body.String() != "{\"error\":\"not found\",\"code\":\"not_found\"}\n" {
		t.Errorf("unknown: %d %s", rec.Code, rec.Body)
	}
}
