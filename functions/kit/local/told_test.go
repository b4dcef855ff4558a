package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// hook is a receiver of webhooks over HTTP whose first tries of an end fail.
type hook struct {
	mu    sync.Mutex
	fails int
	tries []string // ids of what came of ends, each time
	took  []string // types and what they say, once taken
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var got struct {
		ID, Type string
		Data     struct {
			Tenant      string
			ThreadID    string `json:"thread_id"`
			AgentID     string `json:"agent_id"`
			Termination struct{ Type string }
			Tickets     []struct {
				CallID string `json:"tool_call_id"`
				Tool   string `json:"tool_name"`
			}
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || r.Header.Get("Webhook-Id") != got.ID || !strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,") {
		http.Error(w, "not signed", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	line := fmt.Sprint(got.Type, " ", got.Data.Tenant, "/", got.Data.ThreadID, " ", got.Data.AgentID, " ", got.Data.Termination.Type)
	for _, t := range got.Data.Tickets {
		line += t.Tool
	}
	if got.Type == "run.ended" {
		h.tries = append(h.tries, got.ID)
		if len(h.tries) <= h.fails {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
	}
	h.took = append(h.took, line)
}

// wait waits until so many were taken.
func (h *hook) wait(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		h.mu.Lock()
		took := slices.Clone(h.took)
		h.mu.Unlock()
		if len(took) >= n {
			return took
		}
	}
	t.Fatalf("%d announcements did not come in 20 s: %v after %v", n, h.took, h.tries)
	return nil
}

var hookSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("a key of at least 24 bytes"))

// A run waits, is approved over HTTP and ends; its end is posted once to an address
// that failed the first two times, under one id.
func TestTheEndOfARunIsPosted(t *testing.T) {
	to := &hook{fails: 2}
	receiver := httptest.NewServer(to)
	defer receiver.Close()
	s, err := settings.Read([]string{"REVEILLE_WEBHOOK_URL=" + receiver.URL + "/in?token=x", "REVEILLE_WEBHOOK_SECRET=" + hookSecret, "REVEILLE_SWEEP_INTERVAL=50ms"})
	if err != nil {
		t.Fatal(err)
	}
	s.Data = filepath.Join(t.TempDir(), "data.db")
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	defer h.shutDown()
	defer server.Close()
	status, body := post(t, server.URL+"/v1/threads/t1/messages", `{"agentId":"demo","messages":[{"role":"user","content":"approve: x"}]}`)
	var receipt map[string]string
	if err := json.Unmarshal([]byte(body), &receipt); err != nil || status != http.StatusAccepted {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	waits := []string{"run.waiting local/t1 demo danger"}
	if diff := cmp.Diff(waits, to.wait(t, 1)); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	_, body = get(t, server.URL+"/v1/runs/"+receipt["run_id"])
	var run struct {
		Tickets []struct {
			Suspension string `json:"suspension_id"`
		}
	}
	if err := json.Unmarshal([]byte(body), &run); err != nil || len(run.Tickets) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	status, body = post(t, server.URL+"/v1/runs/"+receipt["run_id"]+"/decision", fmt.Sprintf(`{"suspension_id":%q,"action":"resume"}`, run.Tickets[0].Suspension))
	if status != http.StatusAccepted {
		t.Fatalf("status %d: %s", status, body)
	}
	want := append(waits, "run.ended local/t1 demo natural_end")
	if diff := cmp.Diff(want, to.wait(t, 2)); diff != "" {
		t.Errorf("when it is over (-want +got):\n%s", diff)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		head, err := h.file.Head(t.Context(), core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err != nil || time.Now().After(end) {
			t.Fatalf("something is left to tell: %+v, %v", head, err)
		}
		if head.Exists() && !head.Open() && len(head.Outbox) == 0 && head.DueAt == 0 {
			break // no sweep finds more
		}
	}
	if diff := cmp.Diff(want, to.wait(t, 2)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	if len(to.tries) != 3 || to.tries[0] != to.tries[1] || to.tries[1] != to.tries[2] {
		t.Errorf("tries %v, want three of one id", to.tries)
	}
}

func TestWebhookSettings(t *testing.T) {
	url, key := "REVEILLE_WEBHOOK_URL=", "REVEILLE_WEBHOOK_SECRET="
	tests := []struct {
		name    string
		environ []string
		want    string
	}{
		{"no secret", []string{url + "https://hooks.example/"}, "environment variable REVEILLE_WEBHOOK_SECRET: there is no secret"},
		{"a bad secret", []string{url + "https://hooks.example/", key + "hunter2"}, "environment variable REVEILLE_WEBHOOK_SECRET: secret 1 is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"},
		{"no address", []string{key + hookSecret}, "environment variable REVEILLE_WEBHOOK_SECRET is set without REVEILLE_WEBHOOK_URL"},
		{"inside", []string{url + "https://10.0.0.1/?token=abc", key + hookSecret}, "environment variable REVEILLE_WEBHOOK_URL: webhook: outgoing request refused: host 10.0.0.1 is not public: to allow it, list it in REVEILLE_EGRESS_ALLOW"},
		{"plain", []string{url + "http://hooks.example/", key + hookSecret}, "environment variable REVEILLE_WEBHOOK_URL: webhook: outgoing request refused: the scheme of host hooks.example is http, allowed is https: for a host in your own network, list hooks.example in REVEILLE_EGRESS_ALLOW"},
		{"an event bus", []string{"REVEILLE_EVENT_BUS=runs"}, "environment variable REVEILLE_EVENT_BUS applies to AWS only, unset it: on the local host use REVEILLE_WEBHOOK_URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := settings.Read(tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			s.Data = "memory"
			h, err := newHost(context.Background(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
			if err == nil {
				h.shutDown()
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}
