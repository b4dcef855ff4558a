//go:build clients

package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSSEClientsResume breaks the connection of event-source-polyfill, which names its
// last event in the query, and of fetch-event-source, which sends its POST again.
func TestSSEClientsResume(t *testing.T) {
	t.Parallel()
	const folder = "../../../scripts/verify/clients/sse"
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "event-source-polyfill")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	type sent struct {
		Method, Key   string
		Query, Header bool
	}
	type shown struct {
		Text              string
		Started, Finished int
		Requests          []sent
	}
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for name, requests := range map[string][]sent{
		"event-source-polyfill": {{Method: "GET"}, {Method: "GET", Query: true}},
		"fetch-event-source":    {{Method: "POST", Key: "one"}, {Method: "POST", Key: "one", Header: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), "node", "resume.mjs", name, url)
			command.Dir, command.Stderr = folder, os.Stderr
			out, err := command.Output()
			var got shown
			if err != nil || json.Unmarshal(out, &got) != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(shown{Text: slowWords(30), Started: 1, Finished: 1, Requests: requests}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
