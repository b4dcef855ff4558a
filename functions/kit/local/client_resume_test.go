//go:build clients

package local

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// resumed is what resume.mjs prints.
type resumed struct {
	Prefix        bool
	FinishReason  string
	Roles         []string
	Texts, Stored []string
}

// whole is a client that has it all, once.
var whole = resumed{
	Prefix: true, FinishReason: "stop", Roles: []string{"user", "assistant"},
	Texts: []string{long, slowWords(80)}, Stored: []string{long, slowWords(80)},
}

// long asks for an answer of eight seconds: whoever loses it after the third word has
// most of them to come back before it is over, and then there is nothing to resume.
const long = "slow: 80"

// TestAISDKClientComesBack drops the connection in the middle of an answer.
func TestAISDKClientComesBack(t *testing.T) {
	t.Parallel()
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got resumed
			if out := node(t, "resume.mjs", url, long, name); json.Unmarshal(out, &got) != nil {
				t.Fatal(string(out))
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAISDKClientComesBackToAnotherHost ends the host in the middle of an answer and
// starts another on its file before the client comes back. The other has an address of its
// own: that of the first is free for anybody's connection once it has ended.
func TestAISDKClientComesBackToAnotherHost(t *testing.T) {
	t.Parallel()
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data.db")
			url, stop := serveUntil(t, data)
			command := exec.CommandContext(t.Context(), "node", "resume.mjs", url, long, name, "wait")
			command.Dir, command.Stderr = "../../../scripts/verify/clients/aisdk", os.Stderr
			in, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "cut" {
				t.Fatalf("the client says %q, want cut", lines.Text())
			}
			stop()
			url, stop = serveUntil(t, data)
			defer stop()
			if _, err := io.WriteString(in, url+"\n"); err != nil {
				t.Fatal(err)
			}
			var got resumed
			if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
				t.Fatalf("the client says %q", lines.Text())
			}
			if err := command.Wait(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// serveUntil serves a host until stop, which ends it as a signal does.
func serveUntil(t *testing.T, data string) (url string, stop func()) {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = data
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h.handler}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		h.shutDown()
	}
}

// TestAISDKClientReportsErrors lets a run fail, and a request be refused.
func TestAISDKClientReportsErrors(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	type outcome struct{ Status, Error string }
	for _, name := range clients {
		var got map[string]outcome
		if out := node(t, "error.mjs", url, name); json.Unmarshal(out, &got) != nil {
			t.Fatalf("%s: %s", name, out)
		}
		want := map[string]outcome{"failed": {"error", "scripted model failure"}, "refused": {"error", `{"error":"agent \"nobody\" not found","code":"not_found"}` + "\n"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}
