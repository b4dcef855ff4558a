package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
)

func TestCORS(t *testing.T) {
	const allowed, foreign = "https://app.example", "https://evil.example"
	const (
		requestHeaders = "authorization, content-type, last-event-id, idempotency-key, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, " +
			"x-amz-date, x-amz-security-token, x-amz-content-sha256"
		responseHeaders = "x-vercel-ai-ui-message-stream, mcp-session-id, retry-after, location, x-request-id"
		varyPreflight   = "Access-Control-Request-Method, Access-Control-Request-Headers"
	)
	refused := `{"error":"no authentication is configured","code":"unauthorized"}` + "\n"
	tests := []struct {
		name, method string
		header       http.Header
		status       int
		want         http.Header // those of CORS
		body         string
	}{
		{"a preflight", "OPTIONS", http.Header{"Origin": {allowed}, "Access-Control-Request-Method": {"POST"}}, 204, http.Header{
			"Vary": {"Origin", varyPreflight}, "Access-Control-Allow-Origin": {allowed}, "Access-Control-Allow-Methods": {"GET, POST, PATCH, DELETE"},
			"Access-Control-Allow-Headers": {requestHeaders}, "Access-Control-Max-Age": {"600"},
		}, ""},
		{"a refusal", "GET", http.Header{"Origin": {allowed}}, 401, http.Header{
			"Vary": {"Origin"}, "Access-Control-Allow-Origin": {allowed}, "Access-Control-Expose-Headers": {responseHeaders},
		}, refused},
		{"a request that speaks of another method", "GET", http.Header{"Origin": {allowed}, "Access-Control-Request-Method": {"POST"}}, 401, http.Header{
			"Vary": {"Origin"}, "Access-Control-Allow-Origin": {allowed}, "Access-Control-Expose-Headers": {responseHeaders},
		}, refused},
		{"OPTIONS that is no preflight", "OPTIONS", http.Header{"Origin": {allowed}}, 401, http.Header{
			"Vary": {"Origin"}, "Access-Control-Allow-Origin": {allowed}, "Access-Control-Expose-Headers": {responseHeaders},
		}, refused},
		{"a foreign preflight", "OPTIONS", http.Header{"Origin": {foreign}, "Access-Control-Request-Method": {"POST"}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"a foreign page", "GET", http.Header{"Origin": {foreign}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"a sandboxed page", "GET", http.Header{"Origin": {"null"}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"another port", "GET", http.Header{"Origin": {allowed + ":8443"}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"a name that begins like it", "GET", http.Header{"Origin": {allowed + ".evil.example"}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"two origins", "GET", http.Header{"Origin": {allowed, foreign}}, 401, http.Header{"Vary": {"Origin"}}, refused},
		{"no page", "GET", http.Header{}, 401, http.Header{"Vary": {"Origin"}}, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{}
			h := httpapi.CORS([]string{"http://localhost:5173", allowed}, newServer(f, func(o *httpapi.Options) { o.Authenticate = nil }))
			r := httptest.NewRequest(tt.method, "/v1/threads/t1", nil)
			r.Header = tt.header
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			got := http.Header{}
			for name, values := range rec.Result().Header {
				if name == "Vary" || len(name) > 14 && name[:14] == "Access-Control" {
					got[name] = values
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || rec.Code != tt.status || rec.Body.String() != tt.body {
				t.Errorf("status %d, body %q, headers:\n%s", rec.Code, rec.Body, diff)
			}
			silent(t, f)
		})
	}
}

func TestWithoutOriginsThereIsNoCORS(t *testing.T) {
	h := httpapi.CORS(nil, newServer(&fake{}, func(o *httpapi.Options) { o.Authenticate = nil }))
	r := httptest.NewRequest("OPTIONS", "/v1/runs", nil)
	r.Header = http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if rec.Code != 401 || rec.Header().Get("Vary") != "" || rec.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("status %d, headers %v", rec.Code, rec.Header())
	}
}

func TestSomebodyWithoutAPlaceIsRefusedWith403(t *testing.T) {
	h := newServer(&fake{}, func(o *httpapi.Options) {
		o.Authenticate = func(*http.Request) (core.Identity, error) {
			return core.Identity{}, core.Errorf(core.CodeDenied, "this principal has no tenant here")
		}
	})
	rec := do(h, "GET", "/v1/threads/t1", "")
	check(t, rec, 403, `{"error":"this principal has no tenant here","code":"denied"}`)
	if got := rec.Header().Get("WWW-Authenticate"); got != "" {
		t.Errorf("WWW-Authenticate %q, but other credentials would not help", got)
	}
}
