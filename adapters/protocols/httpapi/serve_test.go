package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
)

func TestHealthNeedsNoIdentity(t *testing.T) {
	h := newServer(&fake{}, func(o *httpapi.Options) { o.Authenticate = nil })
	check(t, do(h, "GET", "/health", ""), 200, `{"status":"healthy"}`)
	check(t, do(h, "GET", "/health/live", ""), 200, `{"status":"alive"}`)
}

// Nil options are a server that only says how it is.
func TestWithoutOptionsEveryRequestIsRefused(t *testing.T) {
	f := &fake{}
	h := httpapi.New(f, nil)
	check(t, do(h, "GET", "/health", ""), 200, `{"status":"healthy"}`)
	check(t, do(h, "GET", "/v1/threads/t1", ""), 401, `{"error":"no authentication is configured","code":"unauthorized"}`)
	silent(t, f)
}

func TestHealthSaysWhyTheProcessShouldBeReplaced(t *testing.T) {
	h := newServer(&fake{healthy: func() error { return core.Errorf(core.CodeUnavailable, "16 tools do not end") }})
	check(t, do(h, "GET", "/health", ""), 503, `{"status":"unhealthy","reason":"16 tools do not end"}`)
	check(t, do(h, "GET", "/health/live", ""), 200, `{"status":"alive"}`)
	fine := newServer(&fake{healthy: func() error { return nil }})
	check(t, do(fine, "GET", "/health", ""), 200, `{"status":"healthy"}`)
}

// The store is asked once a second at most, however many ask; its error stays inside.
func TestHealthSaysThatTheStoreCannotBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, err := 0, errors.New("table threads of account 123")
		h := newServer(&fake{ready: func(context.Context) error {
			asked++
			return err
		}})
		for range 3 {
			check(t, do(h, "GET", "/health", ""), 503, `{"status":"unhealthy","reason":"the store cannot be reached"}`)
		}
		check(t, do(h, "GET", "/health/live", ""), 200, `{"status":"alive"}`)
		time.Sleep(999 * time.Millisecond)
		err = nil
		check(t, do(h, "GET", "/health", ""), 503, `{"status":"unhealthy","reason":"the store cannot be reached"}`)
		time.Sleep(time.Millisecond)
		check(t, do(h, "GET", "/health", ""), 200, `{"status":"healthy"}`)
		if asked != 2 {
			t.Errorf("the store was asked %d times, want 2", asked)
		}
	})
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	tests := []struct {
		method, path string
		status       int
		allow, want  string
	}{
		{"GET", "/", 404, "", `{"error":"no route GET /","code":"not_found"}`},
		{"GET", "/v1/thread/t1", 404, "", `{"error":"no route GET /v1/thread/t1","code":"not_found"}`},
		{"GET", "/v1/threads/t1/", 404, "", `{"error":"no route GET /v1/threads/t1/","code":"not_found"}`},
		{"GET", "/v1//threads/t1", 404, "", `{"error":"no route GET /v1//threads/t1","code":"not_found"}`},
		{"GET", "/v1/threads/../runs", 404, "", `{"error":"no route GET /v1/threads/../runs","code":"not_found"}`},
		{"GET", "/v1/mounted", 404, "", `{"error":"no route GET /v1/mounted","code":"not_found"}`},
		{"GET", "/v1/runs/x/cancel", 405, "POST", `{"error":"GET is not allowed here, allowed are POST","code":"method_not_allowed"}`},
		{"DELETE", "/v1/threads/t1/messages", 405, "GET, HEAD, POST", `{"error":"DELETE is not allowed here, allowed are GET, HEAD, POST","code":"method_not_allowed"}`},
		{"POST", "/health", 405, "GET, HEAD", `{"error":"POST is not allowed here, allowed are GET, HEAD","code":"method_not_allowed"}`},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			f := &fake{}
			h := newServer(f, func(o *httpapi.Options) {
				o.Mounts = map[string]http.Handler{"/v1/mounted/": http.NotFoundHandler()}
			})
			rec := do(h, test.method, test.path, "")
			check(t, rec, test.status, test.want)
			if got := rec.Header().Get("Allow"); got != test.allow {
				t.Errorf("Allow %q, want %q", got, test.allow)
			}
			if got := rec.Header().Get("Location"); got != "" {
				t.Errorf("Location %q", got)
			}
			silent(t, f)
		})
	}
}

func TestWithoutIdentityNothingIsServed(t *testing.T) {
	who := func(id core.Identity, err error) func(*httpapi.Options) {
		return func(o *httpapi.Options) {
			o.Authenticate = func(*http.Request) (core.Identity, error) { return id, err }
		}
	}
	tests := []struct {
		name   string
		change func(*httpapi.Options)
		status int
		want   string
	}{
		{"not configured", func(o *httpapi.Options) { o.Authenticate = nil }, 401, `{"error":"no authentication is configured","code":"unauthorized"}`},
		{"no token", who(core.Identity{}, errors.New("no token")), 401, `{"error":"no token","code":"unauthorized"}`},
		{"an error with a code", who(core.Identity{}, core.Errorf(core.CodeUnavailable, "keys at 10.0.0.1")), 503,
			`{"error":"the service cannot answer now, try again","code":"unavailable"}`},
		{"no tenant", who(core.Identity{User: "ann"}, nil), 401, `{"error":"identity: tenant is empty","code":"unauthorized"}`},
		{"bad tenant", who(core.Identity{Tenant: "a#b"}, nil), 401,
			`{"error":"identity: tenant \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"unauthorized"}`},
		{"bad user", who(core.Identity{Tenant: "acme", User: "a#b"}, nil), 401,
			`{"error":"identity: user \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -","code":"unauthorized"}`},
	}
	for _, test := range tests {
		for _, path := range []string{"/v1/threads/t1", "/nowhere", "/v1/mounted/x", "/health/"} {
			t.Run(test.name+path, func(t *testing.T) {
				f := &fake{}
				h := newServer(f, test.change, func(o *httpapi.Options) {
					o.Mounts = map[string]http.Handler{"/v1/mounted/": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the mount was called") })}
				})
				rec := do(h, "GET", path, "")
				check(t, rec, test.status, test.want)
				if asks := rec.Header().Get("WWW-Authenticate") == "Bearer"; asks != (test.status == 401) {
					t.Errorf("a response %d asks for a token: %t", test.status, asks)
				}
				silent(t, f)
			})
		}
	}
}

func TestAnonymousIsOneTenant(t *testing.T) {
	f := &fake{}
	h := newServer(f, func(o *httpapi.Options) { o.Authenticate = httpapi.Anonymous("local") })
	do(h, "POST", "/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"hi"}]}`)
	if s := f.submissions[0]; s.Thread.Tenant != "local" || s.User != "" {
		t.Errorf("submitted as %s of %s", s.User, s.Thread.Tenant)
	}
}

// body returns a valid request of a size, filled up with text.
func body(size int) string {
	const head, tail = `{"messages":[{"role":"user","content":"`, `"}]}`
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

func TestBodiesAreLimited(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	wide := func(n int) string { return "[" + strings.Repeat("1,", n-2) + "1]" }
	tests := []struct {
		name, body, contentType string
		status                  int
		want                    string
	}{
		{"4 MB", strings.Repeat(" ", 4194304-99) + body(99), "application/json", 202, `{"status":"queued","thread_id":"t1",` + ids + `}`},
		{"4 MB and a byte", strings.Repeat(" ", 4194305-99) + body(99), "application/json", 413, `{"error":"request body is larger than 4194304 bytes: send large files by URL, and only the newest messages","code":"too_large"}`},
		{"64 deep", deep(64), "application/json", 400, `{"error":"body is a list, want an object","code":"invalid"}`},
		{"65 deep", deep(65), "application/json", 400, `{"error":"body is nested more than 64 deep at byte 65","code":"invalid"}`},
		{"200,000 values", wide(200_000), "application/json", 400, `{"error":"body is a list, want an object","code":"invalid"}`},
		{"200,001 values", wide(200_001), "application/json", 413, `{"error":"body has 200001 JSON values, at most 200000 are allowed: send only the newest messages, and large results as text or by URL","code":"too_large"}`},
		{"brackets in text", `{"messages":[{"role":"user","content":"\"` + strings.Repeat("[", 99) + `"}]}`, "application/json", 202, `{"status":"queued","thread_id":"t1",` + ids + `}`},
		{"with a charset", body(99), "application/json; charset=utf-8", 202, `{"status":"queued","thread_id":"t1",` + ids + `}`},
		{"a JSON dialect", body(99), "application/problem+json", 202, `{"status":"queued","thread_id":"t1",` + ids + `}`},
		{"a form", body(99), "application/x-www-form-urlencoded", 415, `{"error":"content type of a POST must be application/json, or absent without a body: a form could come from a page of another site","code":"unsupported"}`},
		{"text", body(99), "text/plain", 415, `{"error":"content type of a POST must be application/json, or absent without a body: a form could come from a page of another site","code":"unsupported"}`},
		{"no type", body(99), "", 415, `{"error":"content type of a body must be application/json","code":"unsupported"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), "POST", "/v1/threads/t1/messages", test.body, "Content-Type", test.contentType), test.status, test.want)
			if test.status != 202 {
				silent(t, f)
			}
		})
	}
}

func TestMountsAreBehindIdentityAndLimits(t *testing.T) {
	var got string
	h := newServer(&fake{}, func(o *httpapi.Options) {
		o.Mounts = map[string]http.Handler{"POST /v1/mounted/{id}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, ok := core.IdentityFrom(r.Context())
			text, err := io.ReadAll(r.Body)
			if !ok || id.Tenant != "acme" || err != nil {
				t.Errorf("identity %v %t, error %v", id, ok, err)
			}
			got = r.PathValue("id") + ":" + string(text)
			w.WriteHeader(http.StatusAccepted)
		})}
	})
	if rec := do(h, "POST", "/v1/mounted/x", `{"any":1,"any":2}`); rec.Code != 202 || got != `x:{"any":1,"any":2}` {
		t.Errorf("status %d, mount read %s", rec.Code, got)
	}
	got = ""
	check(t, do(h, "POST", "/v1/mounted/x", body(4194305)), 413, `{"error":"request body is larger than 4194304 bytes: send large files by URL, and only the newest messages","code":"too_large"}`)
	check(t, do(h, "POST", "/v1/mounted/x", strings.Repeat("[", 65)), 400, `{"error":"body is nested more than 64 deep at byte 65","code":"invalid"}`)
	check(t, do(h, "GET", "/v1/mounted/x", ""), 405, `{"error":"GET is not allowed here, allowed are POST","code":"method_not_allowed"}`)
	if got != "" {
		t.Errorf("a refused request reached the mount: %s", got)
	}
}

func TestRefusalsOfMountsBecomeJSON(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		status  int
		want    string
	}{
		{"text", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad session", http.StatusBadRequest) }, 400, `{"error":"bad session","code":"invalid"}`},
		{"conflict", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "twice", http.StatusConflict) }, 409, `{"error":"twice","code":"conflict"}`},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(501) }, 501, `{"error":"Not Implemented","code":"internal"}`},
		{"not found", http.NotFound, 404, `{"error":"no route GET /v1/mounted/x","code":"not_found"}`},
		{"JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0"}`))
		}, 400, `{"jsonrpc":"2.0"}`},
		{"flushed", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}, 403, `{"error":"Forbidden","code":"forbidden"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newServer(&fake{}, func(o *httpapi.Options) { o.Mounts = map[string]http.Handler{"/v1/mounted/": test.handler} })
			check(t, do(h, "GET", "/v1/mounted/x", ""), test.status, test.want)
		})
	}
}

func TestAPanicIsA500WithItsStackInTheLog(t *testing.T) {
	logged := &bytes.Buffer{}
	h := newServer(&fake{}, func(o *httpapi.Options) {
		o.Log = slog.New(slog.NewTextHandler(logged, nil))
		o.Mounts = map[string]http.Handler{"/v1/mounted/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400) // held back, and forgotten
			panic("secret")
		})}
	})
	check(t, do(h, "GET", "/v1/mounted/x", ""), 500, `{"error":"internal error","code":"internal"}`)
	if text := logged.String(); !strings.Contains(text, "panic: secret") || !strings.Contains(text, "serve_test.go") {
		t.Errorf("log %s, want the panic and its stack", text)
	}
}

func TestAPanicAfterTheFirstByteCutsTheConnection(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"panic": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("half")); panic("boom") },
		"abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(newServer(&fake{}, func(o *httpapi.Options) { o.Mounts = map[string]http.Handler{"/v1/mounted/": handler} }))
			defer server.Close()
			response, err := http.Get(server.URL + "/v1/mounted/x")
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if err == nil {
				t.Error("a cut response looks whole")
			}
		})
	}
}

func TestAPanicInAStreamIsItsLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{stream: func(_ context.Context, s sinkFunc) error { _ = play(s, hello()[:1]); panic("secret") }}
		rec := do(newServer(f), "POST", "/v1/runs", `{"messages":[{"role":"user","content":"hi"}]}`)
		want := "id: " + runText + ".1.3.0-0-a\n" +
			`data: {"event_type":"run_start","sequence":1,"run_id":"` + runText + `","thread_id":"t1","agent_id":"demo"}` + "\n\n" +
			`data: {"event_type":"error","sequence":2,"time":"2000-01-01T00:00:00.000Z","run_id":"` + runText + `","error":"internal error","code":"internal"}` + "\n\n"
		if rec.Code != 200 || rec.Body.String() != want {
			t.Errorf("status %d, body\n%s\nwant\n%s", rec.Code, rec.Body, want)
		}
	})
}
