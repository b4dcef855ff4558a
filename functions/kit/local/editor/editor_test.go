//go:build unix

package editor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/local/editor"
)

// hostVariable makes the child process of a test the host.
const hostVariable = "EDITOR_TEST_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) == "" {
		os.Exit(m.Run())
	}
	if err := os.Unsetenv(hostVariable); err != nil {
		panic(err)
	}
	editor.Main(demo.Parts, binding.Bind)
}

// environment is that of a host which has a file for itself.
func environment(data string) []string {
	return append(os.Environ(), hostVariable+"=1", "REVEILLE_DATA="+data, "REVEILLE_MODEL=scripted")
}

// host is the program, in a process of its own.
type host struct {
	*exec.Cmd
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
}

func start(t *testing.T, data string) *host {
	t.Helper()
	h := &host{Cmd: exec.Command(os.Args[0]), t: t}
	h.Env, h.Stderr = environment(data), &strings.Builder{}
	in, err := h.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Process.Kill() })
	h.in, h.lines = in, bufio.NewScanner(out)
	return h
}

func (h *host) sends(format string, values ...any) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.in, format+"\n", values...); err != nil {
		h.t.Fatal(err)
	}
}

// message is what the tests look at of a line of standard output.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Content json.RawMessage
		}
	}
	Result struct{ SessionID, StopReason string }
	Error  *struct{ Message string }
}

// until reads to the first message that is no update; the texts of those are joined.
func (h *host) until() (m message, said string) {
	h.t.Helper()
	for h.lines.Scan() {
		m = message{}
		if err := json.Unmarshal(h.lines.Bytes(), &m); err != nil || m.Version != "2.0" {
			h.t.Fatalf("standard output has the line %s: %v", h.lines.Text(), err)
		}
		if m.Method != "session/update" {
			return m, said
		}
		var block struct{ Text string }
		switch m.Params.Update.Kind {
		case "agent_message_chunk", "user_message_chunk":
			if err := json.Unmarshal(m.Params.Update.Content, &block); err != nil {
				h.t.Fatal(err)
			}
			said += block.Text + "|"
		}
	}
	h.t.Fatalf("standard output ended: %v\n%s", h.lines.Err(), h.Stderr)
	return m, said
}

func (h *host) opens() string {
	h.t.Helper()
	h.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	h.until()
	h.sends(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	m, _ := h.until()
	return m.Result.SessionID
}

func (h *host) prompts(session, text string) (message, string) {
	h.t.Helper()
	h.sends(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, session, text)
	return h.until()
}

// ends closes standard input and waits for the process.
func (h *host) ends() {
	h.t.Helper()
	if err := h.in.Close(); err != nil {
		h.t.Fatal(err)
	}
	for h.lines.Scan() {
	}
	if err := h.Wait(); err != nil {
		h.t.Errorf("the host ended with %v\n%s", err, h.Stderr)
	}
}

// A session goes on in the next process, and so does what was remembered in it.
func TestAnEditorSpeaksWithTheProgram(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	h := start(t, data)
	session := h.opens()
	if m, said := h.prompts(session, "echo: hello"); m.Result.StopReason != "end_turn" || strings.ReplaceAll(said, "|", "") != "Echo: hello" {
		t.Errorf("%+v, %q", m, said)
	}
	if m, _ := h.prompts(session, "approve: one"); m.Method != "session/request_permission" {
		t.Errorf("%+v, want a permission request", m)
	}
	h.sends(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_always"}}}`)
	if m, _ := h.until(); m.Result.StopReason != "end_turn" {
		t.Errorf("%+v, want end_turn", m)
	}
	h.ends()

	h = start(t, data)
	h.opens()
	h.sends(`{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":%q,"cwd":"/","mcpServers":[]}}`, session)
	if m, said := h.until(); m.Error != nil || said != "echo: hello|Echo: hello|approve: one|Done: one|" {
		t.Errorf("%+v, %q", m, said)
	}
	if m, said := h.prompts(session, "approve: two"); m.Result.StopReason != "end_turn" || strings.ReplaceAll(said, "|", "") != "Done: two" {
		t.Errorf("%+v, %q, want no question", m, said)
	}
	h.ends()
}

// What runs when an editor goes away, the next process goes on with.
func TestARunOutlivesItsEditor(t *testing.T) {
	tests := []struct {
		end   string
		words int
	}{
		{"signal", 40}, // the response says that the run is not over, which must be so
		{"closed", 10},
		{"killed", 10},
	}
	for _, test := range tests {
		t.Run(test.end, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data.db")
			h := start(t, data)
			session := h.opens()
			h.sends(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"slow: %d"}]}}`, session, test.words)
			if !h.lines.Scan() || !strings.Contains(h.lines.Text(), "agent_message_chunk") {
				t.Fatalf("read %q", h.lines.Text())
			}
			switch test.end {
			case "closed":
				h.ends()
			case "signal":
				if err := h.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if m, _ := h.until(); m.Error == nil {
					t.Errorf("%+v, want an error: the run is not over", m)
				}
				_ = h.Wait()
			case "killed":
				_ = h.Process.Kill()
				_ = h.Wait()
			}
			h = start(t, data)
			h.opens()
			want := fmt.Sprintf("slow: %d|w1", test.words)
			for n := range test.words - 1 {
				want += fmt.Sprint(" w", n+2)
			}
			want += "|"
			for said := ""; said != want; {
				h.sends(`{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":%q,"cwd":"/","mcpServers":[]}}`, session)
				m, got := h.until()
				if said = got; m.Error != nil || !strings.HasPrefix(want, said) {
					t.Fatalf("%+v, %q", m, said)
				}
			}
			h.ends()
		})
	}
}

func TestASecondHostSaysWhatToDo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	first := start(t, data)
	first.opens()
	second := exec.Command(os.Args[0])
	second.Env = environment(data)
	second.Stdin = strings.NewReader("")
	var log strings.Builder
	second.Stderr = &log
	out, err := second.Output()
	want := "end that one, or set REVEILLE_DATA to another file\n"
	if err == nil || len(out) > 0 || !strings.HasPrefix(log.String(), "acp: ") || !strings.HasSuffix(log.String(), want) {
		t.Errorf("%v, standard output %q, log %q, want it to end in %q", err, out, log.String(), want)
	}
	first.ends()
}
