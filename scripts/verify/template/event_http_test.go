package template

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/app/web"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/serve/front"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

var quiet = slog.New(slog.DiscardHandler)

// deployed is the handler that api and stream serve, as wired there but for the
// store and the queue. It keeps who asked.
func deployed(t *testing.T, buffered bool) (h http.Handler, asked *core.Identity) {
	t.Helper()
	e := env.System()
	bound, err := binding.Bind(e, settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := demo.Parts(bound.Models)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := host.New(host.Options{Env: e, Store: memory.New(), Waker: &mailboxtest.Queue{}, Agents: parts, Logger: quiet, Worker: "test"})
	if err != nil {
		t.Fatal(err)
	}
	of := read(t)
	s, err := settings.Read(environ(of, map[string]string{"REVEILLE_TENANTS": "123456789012=default"}))
	if err != nil {
		t.Fatal(err)
	}
	verified, err := front.Authenticate(s, e)
	if err != nil {
		t.Fatal(err)
	}
	asked = &core.Identity{}
	return web.Handler(web.Options{
		Runtime: rt, Logger: quiet, Buffered: buffered, StreamURL: "https://abcdefghij.lambda-url.us-east-1.on.aws",
		Authenticate: func(r *http.Request) (core.Identity, error) {
			id, err := verified(r)
			*asked = id
			return id, err
		},
	}), asked
}

func TestStreamedRequests(t *testing.T) {
	ada := core.Identity{Tenant: "default", User: "iam:AIDACKCEVSQ6C2EXAMPLE"}
	tests := []struct {
		file  string
		check func(t *testing.T) // that the sample is of its type
		parts func(response any) (int, string, io.Reader)
		holds []string
		last  string
	}{
		{
			file:  "stream-url.json",
			check: func(t *testing.T) { sample[events.APIGatewayV2HTTPRequest](t, "stream-url.json") }, // that of function URLs lacks routeKey
			parts: func(response any) (int, string, io.Reader) {
				r := response.(*events.LambdaFunctionURLStreamingResponse)
				return r.StatusCode, r.Headers["Content-Type"], r.Body
			},
			holds: []string{`"toolName":"echo"`, `"delta":"hello"`},
			last:  "data: [DONE]",
		},
		{
			file:  "stream-rest.json",
			check: func(t *testing.T) { sample[events.APIGatewayProxyRequest](t, "stream-rest.json") },
			parts: func(response any) (int, string, io.Reader) {
				r := response.(*events.APIGatewayProxyStreamingResponse)
				return r.StatusCode, r.Headers["Content-Type"], r.Body
			},
			holds: []string{`"event_type":"run_start"`, `"event_type":"tool_call_done"`},
			last:  `"event_type":"run_finish"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			tt.check(t)
			h, asked := deployed(t, false)
			got, err := awslambda.Handlers{Logger: quiet}.Stream(h)(t.Context(), json.RawMessage(readText(t, "events", tt.file)))
			if err != nil {
				t.Fatal(err)
			}
			status, contentType, body := tt.parts(got)
			defer got.(io.Closer).Close()
			text, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			if status != 200 || contentType != "text/event-stream" {
				t.Errorf("response %d %s", status, contentType)
			}
			for _, part := range tt.holds {
				if !strings.Contains(string(text), part) {
					t.Errorf("no %s in\n%s", part, text)
				}
			}
			frames := strings.Split(strings.TrimSpace(string(text)), "\n\n")
			if last := frames[len(frames)-1]; !strings.Contains(last, tt.last) {
				t.Errorf("the last event is %s", last)
			}
			if diff := cmp.Diff(ada, *asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBufferedRequest(t *testing.T) {
	sample[events.APIGatewayV2HTTPRequest](t, "api.json")
	h, asked := deployed(t, true)
	got, err := awslambda.Handlers{Logger: quiet}.Buffered(h)(t.Context(), json.RawMessage(readText(t, "events", "api.json")))
	if err != nil {
		t.Fatal(err)
	}
	response := got.(events.APIGatewayV2HTTPResponse)
	if response.StatusCode != 202 {
		t.Errorf("response %d %s", response.StatusCode, response.Body)
	}
	queued := decode[struct {
		ThreadID string `json:"thread_id"`
	}](t, []byte(response.Body))
	if queued.ThreadID != "t2" {
		t.Errorf("response %s", response.Body)
	}
	if diff := cmp.Diff(core.Identity{Tenant: "default", User: "iam:AIDACKCEVSQ6C2EXAMPLE"}, *asked); diff != "" {
		t.Error(diff)
	}
}
