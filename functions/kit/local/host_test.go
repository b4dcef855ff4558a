package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// demonstration is what the hosts of the tests serve: the demo, so that what a
// user makes of package app changes nothing here.
var demonstration = wiring.Deployment{Parts: demo.Parts, Models: binding.Bind, Web: web.Handler}

// serveHost runs the real host over HTTP on a file; it returns its address.
func serveHost(tb testing.TB, data string) string {
	url, _ := serveOpenHost(tb, data)
	return url
}

// serveOpenHost is serveHost for tests that look into the host.
func serveOpenHost(tb testing.TB, data string) (string, *localHost) {
	tb.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		tb.Fatal(err)
	}
	s.Data = data
	return serveSettings(tb, s)
}

// serveSettings serves a host with settings of a test's own.
func serveSettings(tb testing.TB, s settings.Settings) (string, *localHost) {
	tb.Helper()
	return serveWhole(tb, s, demonstration)
}

// serveWhole serves a host with parts of a test's own.
func serveWhole(tb testing.TB, s settings.Settings, d wiring.Deployment) (string, *localHost) {
	tb.Helper()
	h, err := newHost(tb.Context(), env.System(), s, slog.New(slog.DiscardHandler), d)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	tb.Cleanup(func() {
		server.Close()
		h.shutDown()
	})
	return server.URL, h
}

func post(tb testing.TB, url, body string) (int, string) {
	tb.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	return read(tb, response)
}

func get(tb testing.TB, url string) (int, string) {
	tb.Helper()
	response, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	return read(tb, response)
}

func read(tb testing.TB, response *http.Response) (int, string) {
	tb.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// said lists who said what on a thread.
func said(tb testing.TB, url, thread string) []string {
	tb.Helper()
	_, body := get(tb, url+"/v1/threads/"+thread+"/messages")
	var page struct {
		Messages []struct {
			Role      string
			Content   []struct{ Text string }
			ToolCalls []struct {
				Name      string
				Arguments json.RawMessage
			} `json:"tool_calls"`
			ToolResult *struct{ Data json.RawMessage } `json:"tool_result"`
		}
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		tb.Fatalf("%v in %s", err, body)
	}
	var lines []string
	for _, m := range page.Messages {
		line := m.Role + ":"
		for _, b := range m.Content {
			line += " " + b.Text
		}
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" %s%s", c.Name, c.Arguments)
		}
		if m.ToolResult != nil {
			line += " " + string(m.ToolResult.Data)
		}
		lines = append(lines, line)
	}
	return lines
}

const chat = `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"echo: hello"}]}]}`

var echoed = []string{"user: echo: hello", `assistant: echo{"text":"hello"}`, `tool: {"text":"hello"}`, "assistant: Echo: hello"}

func TestChatStreamsAndIsStored(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	status, body := post(t, url+"/v1/ai-sdk/chat", chat)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	var types []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var chunk struct{ Type string }
		if data == "[DONE]" {
			chunk.Type = data
		} else if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		types = append(types, chunk.Type)
	}
	want := []string{
		"start", "data-run-info", "start-step", "tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available",
		"data-inference-complete", "tool-output-available", "finish-step",
		"start-step", "text-start", "text-delta", "text-delta", "data-inference-complete", "text-end", "finish-step", "finish", "[DONE]",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(echoed, said(t, url, "t1")); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameChatRequestRunsOnce(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	_, first := post(t, url+"/v1/ai-sdk/chat", chat)
	_, second := post(t, url+"/v1/ai-sdk/chat", chat)
	firstLine, _, _ := strings.Cut(first, "\n")
	secondLine, _, _ := strings.Cut(second, "\n")
	if firstLine != secondLine || !strings.HasSuffix(second, "data: [DONE]\n\n") {
		t.Errorf("the second request did not replay the first response:\n%s", second)
	}
	if diff := cmp.Diff(echoed, said(t, url, "t1")); diff != "" {
		t.Error(diff)
	}
}

func TestBackgroundRunIsAcceptedAndFinishes(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	status, body := post(t, url+"/v1/threads/t2/messages", `{"agentId":"demo","messages":[{"role":"user","content":"parallel: a, b"}]}`)
	var receipt map[string]string
	if err := json.Unmarshal([]byte(body), &receipt); err != nil || status != http.StatusAccepted {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	if receipt["status"] != "queued" || receipt["thread_id"] != "t2" || receipt["run_id"] == "" || receipt["dispatch_id"] == "" {
		t.Errorf("receipt %v", receipt)
	}
	_, stream := get(t, url+"/v1/runs/"+receipt["run_id"]+"/events/stream")
	if !strings.Contains(stream, `"event_type":"run_finish"`) {
		t.Errorf("no run_finish in %s", stream)
	}
	want := []string{"user: parallel: a, b", `assistant: echo{"text":"a"} echo{"text":"b"}`, `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b"}
	if diff := cmp.Diff(want, said(t, url, "t2")); diff != "" {
		t.Error(diff)
	}
}

func TestBadRequestsAreNamedAndStoreNothing(t *testing.T) {
	message := `"messages":[{"role":"user","content":"hello"}]`
	tests := []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"malformed JSON", "POST", "/v1/threads/t1/messages", `{"messages":[`, 400, "invalid"},
		{"malformed chat", "POST", "/v1/ai-sdk/chat", `{"id":`, 400, "invalid"},
		{"unknown agent", "POST", "/v1/threads/t1/messages", `{"agentId":"nobody",` + message + `}`, 404, "not_found"},
		{"unknown agent in chat", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, `{"id":"t1"`, `{"id":"t1","agentId":"nobody"`, 1), 404, "not_found"},
		{"empty messages", "POST", "/v1/threads/t1/messages", `{"messages":[]}`, 400, "invalid"},
		{"empty messages in chat", "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[]}`, 400, "invalid"},
		{"unknown key", "POST", "/v1/threads/t1/messages", `{"agent":"demo",` + message + `}`, 400, "invalid"},
		{"unknown mode", "POST", "/v1/threads/t1/messages", `{"mode":"later",` + message + `}`, 400, "invalid"},
		{"body over 4 MB", "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 4<<20) + `"}]}`, 413, "too_large"},
		{"chat over 4 MB", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, "hello", strings.Repeat("a", 4<<20), 1), 413, "too_large"},
		{"message over 1 MB", "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"` + strings.Repeat("a", 1<<20+1) + `"}]}`, 413, "too_large"},
		{"message over 1 MB in chat", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, "hello", strings.Repeat("a", 1<<20+1), 1), 413, "too_large"},
		{"unknown route", "POST", "/v1/nothing", `{}`, 404, "not_found"},
		{"wrong method", "PUT", "/v1/threads/t1/messages", `{` + message + `}`, 405, "method_not_allowed"},
		{"wrong method in chat", "GET", "/v1/ai-sdk/chat", ``, 405, "method_not_allowed"},
		{"# in a thread id", "POST", "/v1/threads/t%231/messages", `{` + message + `}`, 400, "invalid"},
		{"a thread id of dots", "POST", "/v1/threads/%2e%2E/messages", `{` + message + `}`, 400, "invalid"},
		{"a chat id of dots", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, `"t1"`, `".."`, 1), 400, "invalid"},
		{"a blank message", "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":" "}]}`, 400, "invalid"},
		{"# in a chat id", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, `"t1"`, `"t#1"`, 1), 400, "invalid"},
		{"# in a message id", "POST", "/v1/ai-sdk/chat", strings.Replace(chat, `"m1"`, `"m#1"`, 1), 400, "invalid"},
		{"run id that is none", "GET", "/v1/runs/xyz", ``, 404, "not_found"},
		{"unknown run", "GET", "/v1/runs/01a1fc62-a422-7640-9d3a-3115bd1f8989", ``, 404, "not_found"},
		{"unknown thread", "GET", "/v1/threads/t1/messages", ``, 404, "not_found"},
	}
	data := filepath.Join(t.TempDir(), "data.db")
	t.Run("requests", func(t *testing.T) { // the host stops with this test, and unlocks its file
		url := serveHost(t, data)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				request, err := http.NewRequest(test.method, url+test.path, bytes.NewReader([]byte(test.body)))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				status, body := read(t, response)
				var failure struct{ Error, Code string }
				if err := json.Unmarshal([]byte(body), &failure); err != nil {
					t.Fatalf("%v in %q", err, body)
				}
				if status != test.status || failure.Code != test.code || failure.Error == "" {
					t.Errorf("status %d, code %q, error %q; want %d, %q", status, failure.Code, failure.Error, test.status, test.code)
				}
			})
		}
	})
	if diff := cmp.Diff(map[string]int{}, stored(t, data)); diff != "" {
		t.Errorf("stored by bucket (-want +got):\n%s", diff)
	}
}

// stored counts what the buckets of a closed host's file hold.
func stored(t *testing.T, data string) map[string]int {
	t.Helper()
	db, err := bbolt.Open(data, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	counts := map[string]int{}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if n := b.Stats().KeyN; n != 0 && string(name) != "meta" {
				counts[string(name)] = n
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func TestHostErasesWhatHasExpired(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	file, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const longAgo = 1000
	for _, r := range []store.Record{{Name: store.LogName(1)}, {Name: store.LogName(2), Expires: longAgo}} {
		if err := file.Put(t.Context(), core.ThreadKey{Tenant: localTenant, Thread: "t1"}, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("host", func(t *testing.T) { serveHost(t, data) })
	if diff := cmp.Diff(map[string]int{"threads": 1}, stored(t, data)); diff != "" {
		t.Errorf("stored by bucket (-want +got):\n%s", diff)
	}
}
