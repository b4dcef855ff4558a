//go:build clients

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAISDKClientReadsTheHost sends the main job's message to the whole host
// with the npm package ai, newest 6.x and 6.0.0.
func TestAISDKClientReadsTheHost(t *testing.T) {
	const folder = "../clients/aisdk"
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "ai")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range []string{"ai", "ai-6.0.0"} {
		command := exec.CommandContext(t.Context(), "node", "chat.mjs", url, "echo: hello", name)
		command.Dir, command.Stderr = folder, os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		type part struct {
			Type   string
			State  string
			Text   string
			Input  map[string]string
			Output map[string]string
		}
		var got struct {
			FinishReason string
			Parts        []part
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, out)
		}
		want := []part{
			{Type: "step-start"},
			{Type: "tool-echo", State: "output-available", Input: map[string]string{"text": "hello"}, Output: map[string]string{"text": "hello"}},
			{Type: "step-start"},
			{Type: "text", State: "done", Text: "Echo: hello"},
		}
		if diff := cmp.Diff(want, got.Parts); diff != "" || got.FinishReason != "stop" {
			t.Errorf("%s: finish reason %q, parts (-want +got):\n%s", name, got.FinishReason, diff)
		}
	}
}
