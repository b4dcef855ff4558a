package front

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// echoing returns the handler of a function with its default settings. Its mount decodes the
// body and responds with the number of characters in the messages.
func echoing(t *testing.T) http.Handler {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	mount := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := r.Body.(interface{ Take() ([]byte, error) }).Take() // as protocols do
		if err != nil {
			t.Error(err)
		}
		var body struct{ Messages []string }
		if err := json.Unmarshal(text, &body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(len(body.Messages))
	})
	return httpapi.New(&host.Host{}, &httpapi.Options{
		Authenticate: httpapi.Anonymous("acme"), Log: slog.New(slog.DiscardHandler), MaxBody: s.MaxBody, Mounts: map[string]http.Handler{"POST /v1/mounted": mount},
	})
}

// eventOf returns a request as an endpoint passes it to a function.
func eventOf(body string, version string, encoded bool) json.RawMessage {
	if encoded {
		body = base64.StdEncoding.EncodeToString([]byte(body))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body)
	event := `{"version":"2.0","rawPath":"/v1/mounted","headers":{"content-type":"application/json"},"requestContext":{"http":{"method":"POST"}},"isBase64Encoded":`
	if version == "1.0" {
		event = `{"httpMethod":"POST","path":"/v1/mounted","headers":{"content-type":"application/json"},"isBase64Encoded":`
	}
	if encoded {
		return json.RawMessage(event + `true,"body":` + text.String() + `}`)
	}
	return json.RawMessage(event + `false,"body":` + text.String() + `}`)
}

// An endpoint passes a body to the handler and returns the status and the response.
type endpoint struct {
	name string
	send func(http.Handler, string) (int, string)
}

func endpoints(t *testing.T) []endpoint {
	functions := awslambda.Handlers{Env: env.System(), Logger: slog.New(slog.DiscardHandler)}
	call := func(handle func(context.Context, json.RawMessage) (any, error), event json.RawMessage) (int, string) {
		response, err := handle(t.Context(), event)
		if err != nil {
			t.Fatal(err)
		}
		switch r := response.(type) {
		case *events.LambdaFunctionURLStreamingResponse:
			text, _ := io.ReadAll(r.Body)
			return r.StatusCode, string(text)
		case *events.APIGatewayProxyStreamingResponse:
			text, _ := io.ReadAll(r.Body)
			return r.StatusCode, string(text)
		case events.APIGatewayV2HTTPResponse:
			return r.StatusCode, r.Body
		}
		t.Fatalf("response %T", response)
		return 0, ""
	}
	return []endpoint{
		{"net/http", func(h http.Handler, body string) (int, string) {
			server := httptest.NewServer(h)
			defer server.Close()
			response, err := http.Post(server.URL+"/v1/mounted", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(text)
		}},
		{"function URL", func(h http.Handler, body string) (int, string) {
			return call(functions.Stream(h), eventOf(body, "2.0", false))
		}},
		{"REST API", func(h http.Handler, body string) (int, string) {
			return call(functions.Stream(h), eventOf(body, "1.0", true))
		}},
		{"HTTP API", func(h http.Handler, body string) (int, string) {
			return call(functions.Buffered(h), eventOf(body, "2.0", false))
		}},
	}
}

// bodyOf returns a body of a size whose messages repeat a text.
func bodyOf(text string, size int) string {
	const head, tail = `{"messages":["`, `"]}`
	body := head + strings.Repeat(text, (size-len(head)-len(tail))/len(text)) + tail
	return body + strings.Repeat(" ", size-len(body))
}

func TestBodiesOf4MBAtEveryEndpoint(t *testing.T) {
	const most = 4194304
	const tooLarge = `{"error":"request body is larger than 4194304 bytes: send large files by URL, and only the newest messages","code":"too_large"}`
	h := echoing(t)
	for _, e := range endpoints(t) {
		for name, text := range map[string]string{"quotes": `\"`, "many bytes a character": "語"} {
			if status, response := e.send(h, bodyOf(text, most)); status != 200 || strings.TrimSpace(response) != "1" {
				t.Errorf("%s: 4 MB of %s: %d %s", e.name, name, status, response)
			}
			if status, response := e.send(h, bodyOf(text, most+1)); status != 413 || strings.TrimSpace(response) != tooLarge {
				t.Errorf("%s: 4 MB and a byte of %s: %d %s", e.name, name, status, response)
			}
		}
	}
}

// The memory of a body from its event to the decoded request, as infra/requests.md has it:
// what the runtime library of AWS takes for the event, and what this module takes.
func TestTheMemoryOfABody(t *testing.T) {
	const size = 4194304
	h := echoing(t)
	handle := awslambda.Handlers{Env: env.System(), Logger: slog.New(slog.DiscardHandler)}.Buffered(h)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for name, text := range map[string]string{"quotes": `\"`, "many bytes a character": "語", "letters": "x"} {
		for _, encoded := range []bool{false, true} {
			event := eventOf(bodyOf(text, size), "2.0", encoded)
			ours := allocated(func() { _, _ = handle(t.Context(), event) })
			all := allocated(func() { _, _ = lambda.NewHandler(handle).Invoke(t.Context(), event) })
			t.Logf("%s, base64 %t: an event of %d bytes, %d allocated, with the runtime library %d", name, encoded, len(event), ours, all)
			if ours+uint64(len(event)) > 5*size {
				t.Errorf("%s, base64 %t: an event of %d bytes and %d allocated, want at most 5 bytes for each of the body", name, encoded, len(event), ours)
			}
			if all > ours+uint64(6*len(event)) {
				t.Errorf("%s, base64 %t: %d allocated with the runtime library, want at most 6 bytes more for each of the event", name, encoded, all)
			}
		}
	}
}
