package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// Wherever a mount lies, it gets its requests, and the routes theirs.
func TestMountsAndRoutesAreFound(t *testing.T) {
	const route, none = `"openapi":`, `"not_found"` // of the document; of what nobody serves
	tests := []struct {
		mount string
		want  map[string]string // by request: what its response has
	}{
		{"/v1/mounted/", map[string]string{"GET /v1/mounted/x": "mount", "POST /v1/mounted/": "mount", "GET /openapi.json": route, "GET /v1/other": none, "PUT /v1/threads": "allowed are GET, HEAD, POST"}},
		{"/v1/mounted", map[string]string{"GET /v1/mounted": "mount", "GET /v1/mounted/x": none, "GET /openapi.json": route}},
		{"/v1/mounted/{id}", map[string]string{"GET /v1/mounted/x": "mount", "GET /v1/mounted": none, "GET /openapi.json": route}},
		{"POST /v1/mounted", map[string]string{"POST /v1/mounted": "mount", "GET /v1/mounted": "allowed are POST", "GET /openapi.json": route}},
		{"/", map[string]string{"GET /v1/other": "mount", "GET /openapi.json": route}},
		{"/v1/", map[string]string{"GET /v1/other": "mount", "POST /v1/capabilities": "mount", "PUT /v1/other/threads": "mount", "GET /v1/agents/a/b": "mount", "GET /v1/capabilities?x=1": `"invalid"`, "GET /openapi.json": route, "GET /other": none}},
		{"/v1/threads/", map[string]string{"GET /v1/threads/a/b/c": "mount", "GET /openapi.json": route}},
		{"/v1/threads/{thread}/mine", map[string]string{"GET /v1/threads/a/mine": "mount", "GET /openapi.json": route, "PUT /v1/threads/a": "allowed are DELETE, GET, HEAD, PATCH"}},
		{"/{anything}", map[string]string{"GET /x": "mount", "GET /health": "healthy", "GET /openapi.json": route}},
	}
	for _, test := range tests {
		t.Run(test.mount, func(t *testing.T) {
			for request, want := range test.want {
				h := newServer(&fake{}, func(o *httpapi.Options) {
					o.Mounts = map[string]http.Handler{test.mount: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `"mount"`) })}
				})
				method, path, _ := strings.Cut(request, " ")
				if rec := do(h, method, path, ""); !strings.Contains(rec.Body.String(), want) {
					t.Errorf("%s: %d %s, want %s", request, rec.Code, rec.Body, want)
				}
			}
		})
	}
}

func TestAMountThatContradictsARouteIsRefusedAtStart(t *testing.T) {
	for _, mount := range []string{"GET /v1/threads", "GET /v1/threads/{id}", "GET /v1/{what}/summaries", "GET /health"} {
		func() {
			defer func() {
				if v := recover(); !strings.Contains(fmt.Sprint(v), mount) {
					t.Errorf("%s: panic %v", mount, v)
				}
			}()
			newServer(&fake{}, func(o *httpapi.Options) { o.Mounts = map[string]http.Handler{mount: http.NotFoundHandler()} })
		}()
	}
}
