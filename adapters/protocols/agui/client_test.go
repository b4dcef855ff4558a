//go:build clients

package agui_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clientFolder = "../../../scripts/verify/clients/agui"

// TestRealClientTakesTheTranscripts gives each golden transcript to the npm packages,
// each in the form that its version is told. A client that warns of anything fails.
func TestRealClientTakesTheTranscripts(t *testing.T) {
	if _, err := os.Stat(filepath.Join(clientFolder, "node_modules", "agui-1.0.0")); err != nil {
		t.Fatal("the client is not installed: run `make test-clients`")
	}
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(goldens) == 0 {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, version := range []string{"1.0.0", "0.0.59"} {
		fmt.Fprintf(&all, "%s\n%s", version, took(t, goldens, version))
	}
	const path = "testdata/clients.txt"
	if *update {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("what the clients have (-want +got):\n%s", diff)
	}
}

// lines are the events of a transcript that a client of a version is told.
func lines(text, version string) (payloads []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for prefix, of := range map[string]string{"1.0    ": "1.0.0", "0.0.59 ": "0.0.59"} {
			if rest, special := strings.CutPrefix(line, prefix); special {
				line = ""
				if of == version {
					line = rest
				}
				break
			}
		}
		if line != "" {
			payloads = append(payloads, line)
		}
	}
	return payloads
}

// took is what a client has after each of some streams, a line for each.
func took(t *testing.T, goldens []string, version string) []byte {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	arguments := []string{"transcript.mjs", server.URL, "agui-" + version}
	for _, golden := range goldens {
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(golden), ".golden")
		arguments = append(arguments, name)
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, p := range lines(string(text), version) {
				fmt.Fprintf(w, "data: %s\n\n", p)
			}
		})
	}
	command := exec.CommandContext(t.Context(), "node", arguments...)
	var complaints strings.Builder
	command.Dir, command.Stderr = clientFolder, &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var named bytes.Buffer
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fmt.Fprintf(&named, "%-10s %s\n", arguments[3+i], line)
	}
	return named.Bytes()
}
