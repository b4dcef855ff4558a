//go:build clients

package recorded

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// differences are the transcripts that we read otherwise than the npm package, with the
// reasons. At most mostDifferences may be here.
var differences = map[string]string{
	"chat_snowflake_model_streaming": "the server names no finish reason: the npm package reports an error, the adapter takes its [DONE] as the end",
}

const mostDifferences = 2

// server sends the body of the transcript that a path names, whole or in pieces.
type server map[string]transcript

// ServeHTTP implements http.Handler.
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := strings.SplitN(r.URL.Path, "/", 4)
	play, ok := s[part[1]]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", play.contentType())
	if part[2] == "whole" {
		_, _ = w.Write(play.body)
		return
	}
	random := rand.New(rand.NewPCG(1, uint64(len(play.body))))
	for rest := play.body; len(rest) > 0; {
		n := min(len(rest), 1+random.IntN(400))
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		rest = rest[n:]
	}
}

// readByClients returns what the npm packages read of each transcript, by "name/whole" and
// "name/pieces".
func readByClients(t *testing.T, all []transcript) map[string]turn {
	t.Helper()
	if _, err := os.Stat("node_modules/@ai-sdk/openai"); err != nil {
		t.Fatalf("the npm packages are not installed, run `make test-clients`: %v", err)
	}
	plays := server{}
	var input bytes.Buffer
	encoder := json.NewEncoder(&input)
	here := httptest.NewServer(plays)
	defer here.Close()
	for _, s := range all {
		plays[s.name] = s
		for _, how := range []string{"whole", "pieces"} {
			line := map[string]string{"name": s.name + "/" + how, "client": s.client, "api": s.api, "model": s.model, "url": here.URL + "/" + s.name + "/" + how}
			if err := encoder.Encode(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	node := exec.CommandContext(t.Context(), "node", "read.mjs")
	node.Stdin, node.Stderr = &input, os.Stderr
	output, err := node.Output()
	if err != nil {
		t.Fatalf("read.mjs: %v", err)
	}
	var read map[string]turn
	if err := json.Unmarshal(output, &read); err != nil {
		t.Fatalf("read.mjs: %v: %.300s", err, output)
	}
	return read
}

func TestClientsReadTheSameOfEveryTranscript(t *testing.T) {
	all := transcripts(t)
	theirs := readByClients(t, all)
	if len(differences) > mostDifferences {
		t.Errorf("%d differences are named, at most %d are allowed", len(differences), mostDifferences)
	}
	for name := range differences {
		if _, ok := theirs[name+"/whole"]; !ok {
			t.Errorf("a difference is named for %s, which is no transcript", name)
		}
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			ours, err := s.read(t, bytes.NewReader(s.body))
			for _, how := range []string{"/whole", "/pieces"} {
				want, ok := theirs[s.name+how]
				if !ok {
					t.Fatal("the npm package did not read it")
				}
				if want.Sources == nil {
					ours.Sources = nil
				}
				diff := cmp.Diff(want.compact(), ours.compact())
				switch why, named := differences[s.name]; {
				case named && diff == "":
					t.Errorf("no difference any more, though one is named: %s", why)
				case !named && diff != "":
					t.Errorf("%s (-npm +ours, %v):\n%.3000s", how, err, diff)
				}
			}
		})
	}
}
