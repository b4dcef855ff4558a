package local

import (
	"bytes"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// journal is a log that a test reads while the host writes it.
type journal struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.Write(p)
}

// requests are the lines of requests since the last call, without what each run of the test
// has otherwise.
func (j *journal) requests() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all strings.Builder
	for line := range strings.Lines(j.out.String()) {
		if _, line, ok := strings.Cut(line, "msg=request "); ok {
			all.WriteString(regexp.MustCompile(` (request|ms|bytes)=\S+`).ReplaceAllString(line, ""))
		}
	}
	j.out.Reset()
	return all.String()
}

// await returns requests once there is a line: a server logs a request after its response has
// been sent.
func (j *journal) await(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if lines := j.requests(); lines != "" || time.Now().After(deadline) {
			return lines
		}
	}
}

// Each protocol's requests have a line with their route, the same on the local host and behind
// Lambda, at debug here, where the lines of runs tell enough.
func TestEveryProtocolsRequestsHaveALine(t *testing.T) {
	t.Setenv("WEBHOOK_SECRET", "secret")
	s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_TRIGGERS=../../../events/triggers.json"})
	if err != nil {
		t.Fatal(err)
	}
	logged := &journal{}
	log := slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := newHost(t.Context(), env.System(), s, log, demonstration)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.shutDown)
	address := listen(t, h.handler)
	lambda := demonstration.Web(wiring.WebOptions{Runtime: h.runtime, Authenticate: httpapi.Anonymous(tenant(s)), Logger: log, Page: true})

	const json = "application/json"
	mcp := map[string]string{"Content-Type": json, "Accept": "application/json, text/event-stream"}
	tests := []struct {
		name    string
		request asked
		want    string
		alone   bool // not behind Lambda
	}{
		{"AI SDK", asked{method: "POST", path: "/v1/ai-sdk/chat", body: `{"id":"a1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"echo: hi"}]}]}`, header: map[string]string{"Content-Type": json}},
			`method=POST route="POST /v1/ai-sdk/chat" tenant=local thread=a1 status=200 stream=ended`, false},
		{"AG-UI", asked{method: "POST", path: "/v1/ag-ui/run", body: `{"threadId":"a2","runId":"r1","state":{},"messages":[{"id":"m1","role":"user","content":"echo: hi"}],"tools":[],"context":[],"forwardedProps":{}}`, header: map[string]string{"Content-Type": json}},
			`method=POST route="POST /v1/ag-ui/run" tenant=local thread=a2 status=200 stream=ended`, false},
		{"MCP", asked{method: "POST", path: "/v1/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header: mcp}, `method=POST route="POST /v1/mcp" tenant=local status=200 stream=ended`, false},
		{"a thread", asked{method: "GET", path: "/v1/threads/a1"}, `method=GET route="GET /v1/threads/{thread}" tenant=local thread=a1 status=200`, false},
		{"a run", asked{method: "GET", path: "/v1/runs/00000000-0000-0000-0000-000000000001"}, `method=GET route="GET /v1/runs/{run}" tenant=local run=00000000-0000-0000-0000-000000000001 status=404`, false},
		{"an unknown route", asked{method: "GET", path: "/v1/none/secret"}, `method=GET route=unmatched tenant=local status=404`, false},
		{"an unknown route of a protocol", asked{method: "POST", path: "/v1/ai-sdk/none"}, `method=POST route=unmatched tenant=local status=404`, false},
		{"another method", asked{method: "PUT", path: "/v1/threads"}, `method=PUT route=unmatched tenant=local status=405`, false},
		{"health", asked{method: "GET", path: "/health"}, `method=GET route="GET /health" status=200`, false},
		{"the page", asked{method: "GET", path: "/"}, `method=GET route="GET /" status=200`, false},
		{"a file of the page", asked{method: "GET", path: "/page/NOTICE"}, `method=GET route="GET /page/{file}" status=200`, false},
		{"a webhook without a signature", asked{method: "POST", path: "/v1/triggers/issues", body: `{}`, header: map[string]string{"Content-Type": json}},
			`method=POST route="POST /v1/triggers/{name}" tenant=local trigger=issues status=401`, true},
		{"an unknown trigger", asked{method: "POST", path: "/v1/triggers/none", body: `{}`, header: map[string]string{"Content-Type": json}}, `method=POST route=unmatched status=404`, true},
		{"a page of another site", asked{method: "POST", path: "/v1/threads", header: map[string]string{"Origin": "https://evil.example"}}, `method=POST route=unmatched status=403`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			logged.requests()
			tt.request.overHTTP(t, address)
			got := map[string]string{"local": logged.await(t)}
			want := map[string]string{"local": tt.want + "\n"}
			if !tt.alone {
				tt.request.overLambda(t, lambda, log)
				got["Lambda"], want["Lambda"] = logged.requests(), tt.want+"\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request that no identity is found for has a line without a tenant.
func TestAnUnknownCallersRequestHasALine(t *testing.T) {
	logged := &journal{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	_, open := serveOpenHost(t, "memory")
	h := demonstration.Web(wiring.WebOptions{Runtime: open.runtime, Logger: log})
	asked{method: http.MethodGet, path: "/v1/threads/a1"}.overLambda(t, h, log)
	if got, want := logged.requests(), "method=GET route=unmatched status=401\n"; got != want {
		t.Errorf("line %swant %s", got, want)
	}
}
