//go:build clients

package aisdk_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

const clientFolder = "../../../scripts/verify/clients/aisdk"

// TestRealClientReadsTheStream runs the npm package against the handler: the
// newest 6.x and 7.x, and 6.0.0, which refuses every chunk with an unknown key.
func TestRealClientReadsTheStream(t *testing.T) {
	if _, err := os.Stat(filepath.Join(clientFolder, "node_modules", "ai")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	const want = `{
		"messageId": "01890000-0000-7000-8000-000000000001",
		"finishReason": "stop",
		"isAbort": false,
		"parts": [
			{"type": "step-start"},
			{"type": "tool-echo", "toolCallId": "call_1", "state": "output-available", "input": {"text": "hello"}, "output": {"text": "hello"}},
			{"type": "step-start"},
			{"type": "text", "text": "Echo: hello", "state": "done"}
		],
		"stored": [
			{"role": "user", "parts": [{"type": "text", "text": "echo: hello"}]},
			{"role": "assistant", "parts": [
				{"type": "step-start"},
				{"type": "tool-echo", "toolCallId": "call_1", "state": "output-available", "input": {"text": "hello"}, "output": {"text": "hello"}},
				{"type": "step-start"},
				{"type": "text", "text": "Echo: hello", "state": "done"}
			]}
		]
	}`
	for _, name := range []string{"ai", "ai-6.0.0", "ai-7"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(newServer(t, echoRuntime()))
			defer server.Close()
			command := exec.CommandContext(t.Context(), "node", "chat.mjs", server.URL, "echo: hello", name)
			command.Dir = clientFolder
			command.Stderr = os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("client: %v", err)
			}
			if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
				t.Errorf("what the client read (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// echoRuntime streams echoEvents, with the state before them and a change behind each
// turn, and then holds their messages.
func echoRuntime() *fake {
	f := &fake{}
	f.stream = func(_ context.Context, _ mailbox.Submission, sink sinkFunc) error {
		for _, e := range echoEvents() {
			err := sink(e)
			switch e.Type {
			case core.EventRunStart:
				err = sink(core.Event{Type: core.EventStateSnapshot, RunID: runID, Snapshot: []byte(`{"thread":{"count":1},"run":{}}`)})
			case core.EventInferenceComplete:
				err = sink(core.Event{Type: core.EventStateDelta, RunID: runID, Patch: []byte(`[{"op":"replace","path":"/thread/count","value":2}]`)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	f.messages = func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
		return host.MessagePage{Messages: echoMessages(), Total: 4}, nil
	}
	return f
}

func echoMessages() []core.Message {
	return []core.Message{
		{ID: "m1", Role: core.RoleUser, RunID: runID, Content: []core.Block{{Type: core.BlockText, Text: "echo: hello"}}},
		{ID: "a1", Role: core.RoleAssistant, RunID: runID, ToolCalls: []core.ToolCall{{ID: "call_1", Name: "echo", Arguments: []byte(`{"text":"hello"}`)}}},
		{ID: "r1", Role: core.RoleTool, RunID: runID, ToolResult: &core.ToolResult{CallID: "call_1", Name: "echo", Data: []byte(`{"text":"hello"}`)}},
		{ID: "a2", Role: core.RoleAssistant, RunID: runID, Content: []core.Block{{Type: core.BlockText, Text: "Echo: hello"}}},
	}
}
