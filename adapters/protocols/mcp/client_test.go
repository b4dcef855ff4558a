//go:build clients

package mcp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clientFolder = "../../../scripts/verify/clients/mcp"

// TestRealClientsCallTools runs the npm packages against the handler: the SDK 1.x, and
// the client 2.x as it begins without a handshake and as it does by default.
func TestRealClientsCallTools(t *testing.T) {
	if _, err := os.Stat(filepath.Join(clientFolder, "node_modules", "@modelcontextprotocol")); err != nil {
		t.Fatal("the clients are not installed: run `make test-clients`")
	}
	const rest = `
		"tools": ["broken", "danger", "demo", "echo", "get_run"],
		"progress": ["run ID", "step 1", "calling echo", "echo: ok", "step 2"],
		"echoed": {"text": "Echo: hello", "isError": false, "status": "done"},
		"waiting": {"isError": false, "status": "waiting", "tool": "danger", "arguments": {"text": "ship it"}},
		"decided": 202,
		"later": {"text": "{\"text\":\"ship it\"}", "isError": false, "status": "done"},
		"failed": {"text": "Run ID ended without an answer: error: model: scripted model failure", "isError": true, "status": "done"},
		"unknown": -32602}`
	for name, version := range map[string]string{"sdk": legacy, "client": modern, "client-legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.worker()
			command := exec.CommandContext(t.Context(), "node", "call.mjs", w.serve(w.handler(nil)), name)
			command.Dir = clientFolder
			command.Stderr = os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("client: %v", err)
			}
			var want, got any
			if err := json.Unmarshal([]byte(`{"version": "`+version+`",`+rest), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the client saw (-want +got):\n%s", diff)
			}
		})
	}
}
