package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// asked is what a client sends to either host.
type asked struct {
	method, path, body string
	header             map[string]string
}

// overHTTP sends it to the local host, without any header that a client would add.
func (r asked) overHTTP(t *testing.T, address string) string {
	t.Helper()
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\nHost: localhost\nConnection: close\n", r.method, r.path)
	for name, value := range r.header {
		fmt.Fprintf(&head, "%s: %s\n", name, value)
	}
	if r.body != "" || r.method != http.MethodDelete { // curl's DELETE has no Content-Length
		fmt.Fprintf(&head, "Content-Length: %d\n", len(r.body))
	}
	return exchange(t, address, head.String()+"\n"+r.body)
}

// overLambda sends it through a function URL.
func (r asked) overLambda(t *testing.T, h http.Handler, log *slog.Logger) string {
	t.Helper()
	path, query, _ := strings.Cut(r.path, "?")
	event := events.LambdaFunctionURLRequest{Version: "2.0", RawPath: path, RawQueryString: query, Headers: map[string]string{"host": "x.lambda-url.eu-west-1.on.aws"}, Body: r.body}
	event.RequestContext.HTTP.Method, event.RequestContext.HTTP.Path = r.method, path
	for name, value := range r.header {
		event.Headers[strings.ToLower(name)] = value
	}
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	got, err := awslambda.Handlers{Logger: log}.Stream(h)(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := io.ReadAll(got.(io.Reader))
	if err != nil {
		t.Fatal(err)
	}
	if err := got.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	prelude, body, _ := bytes.Cut(encoded, make([]byte, 8))
	var status struct{ StatusCode int }
	if err := json.Unmarshal(prelude, &status); err != nil {
		t.Fatalf("%v in %q", err, prelude)
	}
	return fmt.Sprint(status.StatusCode, " ", strings.TrimSpace(string(body)))
}

// Requests as curl, fetch and generated clients send them: without a body, and then
// without a content type.
func TestARequestGetsTheSameResponseOnTheLocalHostAndBehindLambda(t *testing.T) {
	s, err := settings.Read([]string{"REVEILLE_DATA=memory"})
	if err != nil {
		t.Fatal(err)
	}
	e := env.System()
	h, err := newHost(t.Context(), e, s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, h.handler)
	t.Cleanup(h.shutDown)
	lambda := demonstration.Web(wiring.WebOptions{Runtime: h.runtime, Authenticate: httpapi.Anonymous(tenant(s)), Logger: slog.New(slog.DiscardHandler)})

	const (
		form    = `415 {"error":"content type of a POST must be application/json, or absent without a body: a form could come from a page of another site","code":"unsupported"}`
		notJSON = `415 {"error":"content type of a body must be application/json","code":"unsupported"}`
		noRun   = `404 {"error":"active run 00000000-0000-0000-0000-000000000001 not found","code":"not_found"}`
		cancel  = "/v1/runs/00000000-0000-0000-0000-000000000001/cancel"
	)
	tests := []struct {
		name    string
		request asked
		want    string
	}{
		{"a cancel by curl", asked{method: "POST", path: cancel}, noRun},
		{"a cancel by a client that names JSON", asked{method: "POST", path: cancel, header: map[string]string{"Content-Type": "application/json"}}, noRun},
		{"an empty form", asked{method: "POST", path: cancel, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, form},
		{"an empty text", asked{method: "POST", path: cancel, header: map[string]string{"Content-Type": "text/plain;charset=UTF-8"}}, form},
		{"an empty body of another type", asked{method: "POST", path: cancel, header: map[string]string{"Content-Type": "application/xml"}}, noRun},
		{"an interrupt without input", asked{method: "POST", path: "/v1/threads/none/interrupt"}, `404 {"error":"active run of thread none not found","code":"not_found"}`},
		{"a delete by curl", asked{method: "DELETE", path: "/v1/threads/none"}, `404 {"error":"thread none not found","code":"not_found"}`},
		{"a delete by a client that names a type", asked{method: "DELETE", path: "/v1/threads/none", header: map[string]string{"Content-Type": "text/plain"}}, `404 {"error":"thread none not found","code":"not_found"}`},
		{"a body without a type", asked{method: "POST", path: "/v1/threads", body: `{"threadId":"a"}`}, notJSON},
		{"a body in a form's type", asked{method: "POST", path: "/v1/threads", body: `{"threadId":"a"}`, header: map[string]string{"Content-Type": "text/plain"}}, form},
		{"a change in a form's type", asked{method: "PATCH", path: "/v1/threads/none", body: `{"title":"a"}`, header: map[string]string{"Content-Type": "text/plain"}}, notJSON},
		{"an unknown route", asked{method: "POST", path: "/v1/none"}, `404 {"error":"no route POST /v1/none","code":"not_found"}`},
		{"a wrong method", asked{method: "PUT", path: "/v1/threads"}, `405 {"error":"PUT is not allowed here, allowed are GET, HEAD, POST","code":"method_not_allowed"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.request.overHTTP(t, address); got != test.want {
				t.Errorf("local host: %s\nwant %s", got, test.want)
			}
			if got := test.request.overLambda(t, lambda, slog.New(slog.DiscardHandler)); got != test.want {
				t.Errorf("Lambda: %s\nwant %s", got, test.want)
			}
		})
	}
	made := asked{method: "POST", path: "/v1/threads"}
	for name, got := range map[string]string{"local host": made.overHTTP(t, address), "Lambda": made.overLambda(t, lambda, slog.New(slog.DiscardHandler))} {
		if !strings.HasPrefix(got, `201 {"thread_id":"`) {
			t.Errorf("%s: a thread without a body: %s, want 201", name, got)
		}
	}
}
