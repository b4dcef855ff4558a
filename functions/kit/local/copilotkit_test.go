//go:build clients

package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCopilotKitTalks types into the chat of adapters/protocols/agui/README.md, against the whole host.
// `make test-copilotkit` runs it, and `make test-clients` does not.
func TestCopilotKitTalks(t *testing.T) {
	const folder = "../../../scripts/verify/copilotkit"
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		t.Skip("CopilotKit is not installed: run `make test-copilotkit`")
	}
	module := copilotModule(t, folder, serveHost(t, filepath.Join(t.TempDir(), "data.db")))
	command := exec.CommandContext(t.Context(), "node", "--import", "./styles.mjs", "chat.mjs", module)
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

// copilotModule writes the document's block as a JavaScript module, for a host at url, where the packages of
// the folder resolve. The page of chat.mjs is rendered next to the chat. It returns the path of the module.
func copilotModule(t *testing.T, folder, url string) string {
	t.Helper()
	const document = "adapters/protocols/agui/README.md"
	readme, err := os.ReadFile("../../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```tsx client\n(import .*?)```").FindStringSubmatch(string(readme))
	if block == nil || !strings.Contains(block[1], readmeHost) || strings.Count(block[1], "<CopilotChat />") != 1 {
		t.Fatal(document + " has no code of one CopilotChat for " + readmeHost)
	}
	code := strings.NewReplacer(readmeHost, url, "<CopilotChat />", "<globalThis.Page /><CopilotChat />").Replace(block[1])
	modules, err := filepath.Abs(filepath.Join(folder, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := os.MkdirTemp(modules, ".readme-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	module := filepath.Join(place, "chat.mjs")
	command := exec.CommandContext(t.Context(), "go", "tool", "esbuild", "--format=esm", "--jsx=automatic", "--loader=tsx", "--log-level=warning")
	var complaints strings.Builder
	command.Stdin, command.Stderr = strings.NewReader(code), &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	if err := os.WriteFile(module, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return module
}
