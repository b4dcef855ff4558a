//go:build clients

package openai

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// startFake starts the fake server of scripts/clients/openai on a free port and
// returns its base URL. The server ends with the test, or with its input if the
// test is killed.
func startFake(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("..", "..", "scripts", "clients", "openai")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@copilotkit", "aimock")); err != nil {
		t.Fatalf("the fake server is not installed, run `make test-clients`: %v", err)
	}
	node := exec.Command("node", "server.mjs", "0")
	node.Dir = folder
	node.Stderr = os.Stderr
	if _, err := node.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("`make test-clients` needs node 20: %v", err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // reports the kill
	})
	overdue := time.AfterFunc(30*time.Second, func() { _ = node.Process.Kill() }) // ends the read below
	defer overdue.Stop()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the fake server did not start: %v", err)
	}
	return strings.TrimSpace(url)
}

// ask streams one inference and returns what came before its error.
func ask(t *testing.T, m *Model, text string) ([]model.Delta, error) {
	t.Helper()
	var deltas []model.Delta
	for d, err := range m.Stream(t.Context(), model.Request{
		Model:    "gpt-fake",
		System:   "You are terse.",
		Messages: []core.Message{core.UserMessage("1", text)},
		Tools:    []model.ToolDefinition{{Name: "get_time"}, {Name: "get_weather"}},
	}) {
		if err != nil {
			return deltas, err
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

func TestAgainstAnIndependentServer(t *testing.T) {
	m, err := New(Options{APIKey: testKey, BaseURL: startFake(t) + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, say string
		want      joined
	}{
		{"text", "say hello", joined{Text: "Hello from the other side.", Usage: true, Stop: core.StopEndTurn}},
		{"two tool calls", "call two tools", joined{
			Calls: []calledTool{
				{"call_weather", "get_weather", `{"city":"Paris","days":3}`},
				{"call_time", "get_time", `{"zone":"Europe/Paris"}`},
			},
			Usage: true,
			Stop:  core.StopToolUse,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			deltas, err := ask(t, m, test.say)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, join(deltas)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("cut in the middle", func(t *testing.T) {
		deltas, err := ask(t, m, "be cut off")
		if !errors.Is(err, model.ErrTruncated) || !model.Transient(err) {
			t.Errorf("error %v, want a transient truncation", err)
		}
		got := join(deltas)
		if !strings.HasPrefix(got.Text, "This ") || strings.HasSuffix(got.Text, "end.") || got.Stop != "" {
			t.Errorf("deltas %+v, want the beginning", got)
		}
	})
	t.Run("rate limit", func(t *testing.T) {
		deltas, err := ask(t, m, "be limited")
		var e *model.Error
		if !errors.As(err, &e) || len(deltas) > 0 {
			t.Fatalf("deltas %v, error %v", deltas, err)
		}
		if e.Kind != model.KindRateLimited || e.Status != 429 || e.RetryAfter != 7*time.Second {
			t.Errorf("kind %q, status %d, retry after %v", e.Kind, e.Status, e.RetryAfter)
		}
		if !strings.HasPrefix(e.Message, "openai: status 429: Rate limit reached, slow down. (request ") {
			t.Errorf("message %q", e.Message)
		}
	})
}

// joined is what the deltas of a stream add up to.
type joined struct {
	Text  string
	Calls []calledTool
	Usage bool
	Stop  core.StopReason
}

type calledTool struct{ ID, Name, Arguments string }

func join(deltas []model.Delta) joined {
	var a joined
	for _, d := range deltas {
		switch d.Type {
		case model.DeltaText:
			a.Text += d.Text
		case model.DeltaToolStart:
			a.Calls = append(a.Calls, calledTool{ID: d.CallID, Name: d.Name})
		case model.DeltaToolArgument:
			a.Calls[d.Index].Arguments += d.Text
		case model.DeltaUsage:
			a.Usage = d.Usage.Input > 0 && d.Usage.Output > 0
		case model.DeltaStop:
			a.Stop = d.Stop
		}
	}
	return a
}
