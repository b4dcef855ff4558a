package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/mcp"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// failing is a runtime whose streams break.
type failing struct {
	protocol.Host
	stream func(mailbox.Submission) (mailbox.Receipt, error)
}

func (f failing) Stream(_ context.Context, s mailbox.Submission, _ host.Listener) (mailbox.Receipt, error) {
	return f.stream(s)
}

// offers is a host that exposes these tools.
type offers struct {
	protocol.Host
	all []agent.Exposed
}

func (o offers) Exposed() []agent.Exposed { return o.all }

// offered is one that has nothing else.
func offered(all ...agent.Exposed) offers { return offers{new(host.Host), all} }

func TestWhatBreaksInsideIsNotQuoted(t *testing.T) {
	var submitted core.ID
	tests := []struct {
		name   string
		stream func(protocol.Host, mailbox.Submission) (mailbox.Receipt, error)
		text   string
		status string
	}{
		{"an error", func(protocol.Host, mailbox.Submission) (mailbox.Receipt, error) {
			return mailbox.Receipt{}, core.Errorf(core.CodeInternal, "dial 10.0.0.7")
		}, "internal error", "refused"},
		{"a store that is away", func(protocol.Host, mailbox.Submission) (mailbox.Receipt, error) {
			return mailbox.Receipt{}, core.Errorf(core.CodeUnavailable, "dial 10.0.0.7")
		}, "the service cannot answer now, try again", "refused"},
		{"a panic", func(protocol.Host, mailbox.Submission) (mailbox.Receipt, error) { panic("10.0.0.7") }, "internal error", "refused"},
		{"another's thread", func(protocol.Host, mailbox.Submission) (mailbox.Receipt, error) {
			return mailbox.Receipt{}, core.Errorf(core.CodeForbidden, "thread t1 is bob's")
		}, "thread t1 not found", "refused"},
		{"a stream that breaks behind the submission", func(r protocol.Host, s mailbox.Submission) (mailbox.Receipt, error) {
			receipt, err := r.Submit(context.Background(), s)
			submitted = receipt.RunID
			if err == nil {
				err = core.Errorf(core.CodeInternal, "dial 10.0.0.7")
			}
			return receipt, err
		}, "Run ID goes on. Ask get_run for its answer.", "queued"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			real := w.runtime()
			url := w.serve(w.handlerOf(failing{real, func(s mailbox.Submission) (mailbox.Receipt, error) { return test.stream(real, s) }}, nil))
			got := w.call(w.client(url, "acme", modern, nil), "demo", map[string]any{"message": "hello", "thread_id": "t1"})
			if text := strings.ReplaceAll(test.text, "ID", submitted.String()); got.Text != text || got.Status != test.status || got.IsError != (test.status == "refused") {
				t.Errorf("%+v, want %q, %s", got, text, test.status)
			}
		})
	}
}

func TestABufferedCallIsAnsweredBeforeItsRequestEnds(t *testing.T) {
	w := newWorld(t) // nobody works
	h := w.handler(func(o *mcp.Options) { o.Buffered, o.Wait = true, time.Hour })
	url := w.serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5100*time.Millisecond) // 5 s are spare
		defer cancel()
		h.ServeHTTP(rw, r.WithContext(ctx))
	}))
	c := w.client(url, "acme", modern, nil)
	began := time.Now()
	got := w.call(c, "demo", map[string]any{"message": "hello"})
	if took := time.Since(began); got.Status != "queued" || took < 50*time.Millisecond || took > 4*time.Second {
		t.Errorf("after %s: %+v", took, got)
	}
}

func TestARunThatWasDecidedWaitsNoMore(t *testing.T) {
	w := newWorld(t) // nobody works
	url := w.serve(w.handler(nil))
	waits := w.call(w.client(url, "acme", modern, nil), "danger", map[string]any{"text": "ship it"})
	short := w.client(w.serve(w.handler(func(o *mcp.Options) { o.Buffered, o.Wait = true, 20*time.Millisecond })), "acme", modern, nil)
	if got := w.call(short, "get_run", map[string]any{"run_id": waits.Run}); got.Status != "waiting" {
		t.Errorf("before: %+v", got)
	}
	ticket := waits.Content["tickets"].([]any)[0].(map[string]any)
	body := `{"suspension_id":"` + ticket["suspension_id"].(string) + `","action":"resume"}`
	if status, _, text := send(t, http.MethodPost, url+"/v1/runs/"+waits.Run+"/decision", body); status != http.StatusAccepted {
		t.Fatalf("decision: %d %s", status, text)
	}
	if got := w.call(short, "get_run", map[string]any{"run_id": waits.Run}); got.Status != "running" || got.Content["tickets"] != nil {
		t.Errorf("behind the decision: %+v", got)
	}
}

// FuzzMessage sends any body: it is answered with JSON, or not at all, and never with
// an error of the server's.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		``, `{`, `[]`, `null`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":-1,"method":"tools/list","params":{"cursor":"x"}}`, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"x"},"_meta":{"progressToken":1.5}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":[1]}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","ID":1,"Method":"ping","method":null}`, `{"jsonrpc":"2.0","id":1,"result":1,"method":"ping"}`,
	} {
		f.Add([]byte(body), false)
		f.Add([]byte(body), true)
	}
	w := newWorld(f)
	h := w.handlerOf(offers{Host: w.runtime()}, func(o *mcp.Options) { o.Buffered = true })
	f.Fuzz(func(t *testing.T, body []byte, isModern bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/mcp", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Tenant", "acme")
		if isModern {
			r.Header.Set("Mcp-Protocol-Version", modern)
		}
		response := httptest.NewRecorder()
		h.ServeHTTP(response, r)
		if response.Code >= 500 || response.Code != http.StatusAccepted && !json.Valid(response.Body.Bytes()) {
			t.Errorf("%d %s", response.Code, response.Body)
		}
	})
}
