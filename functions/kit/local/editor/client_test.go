//go:build clients && unix

package editor_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clientFolder = "../../../../scripts/verify/clients/acp"

// TestRealClientSpeaksWithTheProgram starts the host as an editor does, with the
// official npm package.
func TestRealClientSpeaksWithTheProgram(t *testing.T) {
	if _, err := os.Stat(filepath.Join(clientFolder, "node_modules", "@agentclientprotocol", "sdk")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	const want = `{
		"version": 1,
		"load": true,
		"echo": {"stopReason": "end_turn", "asked": 0, "said": "Echo: hello", "thought": "", "calls": ["pending", "in_progress", "completed"]},
		"think": {"stopReason": "end_turn", "asked": 0, "said": "I thought about it.", "thought": "Thinking about twice", "calls": []},
		"options": ["allow_once", "allow_always", "reject_once", "reject_always"],
		"approved": {"stopReason": "end_turn", "asked": 1, "said": "Done: one", "thought": "", "calls": ["pending", "in_progress", "pending", "in_progress", "completed"]},
		"remembered": {"stopReason": "end_turn", "asked": 0, "said": "Done: two", "thought": "", "calls": ["pending", "in_progress", "completed"]},
		"rejected": {"stopReason": "end_turn", "asked": 1, "said": "The call of danger was denied.", "thought": "", "calls": ["pending", "in_progress", "pending", "in_progress", "failed"]},
		"refused": {"stopReason": "end_turn", "asked": 0, "said": "The call of danger was denied.", "thought": "", "calls": ["pending", "in_progress", "failed"]},
		"cancelled": "cancelled",
		"dismissed": "cancelled",
		"loaded": [
			"user_message_chunk: echo: hello", "tool_call", "tool_call_update", "agent_message_chunk: Echo: hello",
			"user_message_chunk: think: twice", "agent_thought_chunk: Thinking about twice", "agent_message_chunk: I thought about it.",
			"user_message_chunk: approve: one", "tool_call", "tool_call_update", "agent_message_chunk: Done: one",
			"user_message_chunk: approve: two", "tool_call", "tool_call_update", "agent_message_chunk: Done: two"
		],
		"failure": "-32603 scripted model failure",
		"exit": 0
	}`
	command := exec.CommandContext(t.Context(), "node", "talk.mjs", os.Args[0])
	command.Dir = clientFolder
	command.Env = environment(filepath.Join(t.TempDir(), "data.db"))
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("client: %v", err)
	}
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, out)); diff != "" {
		t.Errorf("what the client read (-want +got):\n%s", diff)
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
