//go:build clients

package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCopilotKitTalks types into CopilotKit's chat, as adapters/protocols/agui/README.md mounts it, against the
// whole host. It is no test of `make test-clients`: run `make test-copilotkit`.
func TestCopilotKitTalks(t *testing.T) {
	const folder = "../../../scripts/verify/copilotkit"
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		t.Skip("CopilotKit is not installed: run `make test-copilotkit`")
	}
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	command := exec.CommandContext(t.Context(), "node", "--import", "./styles.mjs", "chat.mjs", url)
	var complaints strings.Builder
	command.Dir, command.Stderr = folder, &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var got struct{ Opened, Messages []string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want := []string{
		"user: echo: hello", "assistant: echo", `tool: {"text":"hello"}`, "assistant: Echo: hello",
		`user: call: navigate {"to":"/home"}`, "assistant: navigate", `tool: {"opened":true}`, `assistant: The result of navigate: {"opened":true}`,
		"user: approve: ship it", "assistant: danger", `tool: {"text":"ship it","executions":1}`, "assistant: Done: ship it",
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/home"}, got.Opened); diff != "" {
		t.Errorf("pages that were opened (-want +got):\n%s", diff)
	}
}
