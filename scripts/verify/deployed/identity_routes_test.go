//go:build aws

package deployed

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// open are the routes that need no credentials.
var open = []string{"GET /health", "GET /health/live"}

const messagesBody = `{"messages":[{"role":"user","content":"hi"}]}`

// bodies are what is sent to routes with a body. THREAD, CALL and INPUT are those of
// another user's thread. A new route with a body needs one here.
var bodies = map[string]string{
	"POST /v1/threads":                           `{"thread_id":"THREAD"}`,
	"PATCH /v1/threads/{thread}":                 `{"title":"mine"}`,
	"PATCH /v1/threads/{thread}/metadata":        `{"metadata":{"a":1}}`,
	"POST /v1/threads/{thread}/messages":         messagesBody,
	"POST /v1/threads/{thread}/mailbox":          `{"payload":{"text":"hi"}}`,
	"PATCH /v1/threads/{thread}/mailbox/{input}": messagesBody,
	"POST /v1/threads/{thread}/interrupt":        messagesBody,
	"POST /v1/threads/{thread}/decision":         `{"tool_call_id":"CALL","action":"cancel"}`,
	"POST /v1/threads/{thread}/fork":             `{"at":"INPUT.0"}`,
	"POST /v1/runs":                              `{"threadId":"THREAD","messages":[{"role":"user","content":"hi"}]}`,
	"POST /v1/runs/{run}/inputs":                 messagesBody,
	"POST /v1/runs/{run}/decision":               `{"tool_call_id":"CALL","action":"cancel"}`,
	"POST /v1/ai-sdk/chat":                       `{"id":"THREAD","messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	"POST /v1/ai-sdk/threads/{thread}/runs":      `{"messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	"POST /v1/ai-sdk/agents/{agent}/runs":        `{"threadId":"THREAD","messages":[{"id":"m9","role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	"POST /v1/ag-ui/run":                         agui,
	"POST /v1/ag-ui/threads/{thread}/runs":       agui,
	"POST /v1/ag-ui/agents/{agent}/runs":         agui,
	"POST /v1/ag-ui/connect":                     agui,
	"POST /v1/ag-ui/threads/{thread}/connect":    agui,
	"POST /v1/mcp":                               `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"RUN"}}}`,
}

const agui = `{"threadId":"THREAD","runId":"r1","messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`

// queries are those that routes require.
var queries = map[string]string{"GET /v1/usage": "?from=" + time.Now().AddDate(0, 0, -1).Format(time.DateOnly) + "&to=" + time.Now().AddDate(0, 0, 1).Format(time.DateOnly)}

// foreign are the statuses of routes for callers that the thread and the run are not of:
// another user of the tenant, and a user of the same name in another tenant. Every other
// route, and each new one, is 404 for both.
var foreign = map[string][2]int{
	// Lists and reports of the caller's own, and what belongs to the deployment.
	"GET /v1/threads": {200, 200}, "GET /v1/threads/summaries": {200, 200}, "GET /v1/runs": {200, 200}, "GET /v1/runs/summary": {200, 200},
	"GET /v1/approvals": {200, 200}, "GET /v1/usage": {200, 200}, "GET /v1/limits": {200, 200},
	"GET /v1/agents": {200, 200}, "GET /v1/agents/{agent}": {200, 200}, "GET /v1/capabilities": {200, 200}, "GET /openapi.json": {200, 200},
	// A new thread of the other tenant, whose id happens to be the same.
	"POST /v1/threads": {404, 201}, "POST /v1/threads/{thread}/messages": {404, 202}, "POST /v1/threads/{thread}/mailbox": {404, 201},
	"POST /v1/threads/{thread}/interrupt": {404, 202}, "POST /v1/runs": {404, 200},
	"POST /v1/ai-sdk/chat": {404, 200}, "POST /v1/ai-sdk/threads/{thread}/runs": {404, 200}, "POST /v1/ai-sdk/agents/{agent}/runs": {404, 200},
	"POST /v1/ag-ui/run": {404, 200}, "POST /v1/ag-ui/threads/{thread}/runs": {404, 200}, "POST /v1/ag-ui/agents/{agent}/runs": {404, 200},
	// Nothing runs, as in a thread that never was.
	"GET /v1/ai-sdk/chat/{thread}/stream": {204, 204}, "GET /v1/ai-sdk/threads/{thread}/stream": {204, 204},
	"POST /v1/ag-ui/connect": {200, 200}, "POST /v1/ag-ui/threads/{thread}/connect": {200, 200},
	// The result of the call says that there is no such run.
	"POST /v1/mcp": {200, 200},
}

// owned is a thread of ann in the tenant acme: a run waits, and an input is queued.
type owned struct {
	*world
	url    string
	tokens *issuer
	run    core.Run
	input  string
}

const jewels = "crown jewels"

// ask sends a request with a token; empty: none.
func (o *owned) ask(t *testing.T, token, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, readAll(t, response.Body)
}

// must is ask of ann, with a status of 2xx.
func (o *owned) must(t *testing.T, method, path, body string, into any) {
	t.Helper()
	status, text := o.ask(t, o.tokens.of("acme", "ann"), method, path, body)
	if status/100 != 2 {
		t.Fatalf("%s %s as ann: %d %s", method, path, status, text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
}

func newOwned(t *testing.T) *owned {
	t.Helper()
	o := &owned{world: newWorld(t), tokens: newIssuer(t)}
	o.world.run(t,
		o.function("stream", build(t, "scripts/verify/deployed/stream", ""), 30*time.Second, o.tokens.environment()...),
		o.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second, o.tokens.environment("REVEILLE_STREAM_URL=https://stream.example")...))
	o.url = o.front(t, host.Front{Function: "stream", Shape: host.ShapeURL})
	o.must(t, "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"approve: `+jewels+`"}]}]}`, nil)
	o.must(t, "GET", "/v1/threads/t1/runs/latest", "", &o.run)
	o.must(t, "GET", "/v1/runs/"+o.run.ID.String(), "", &o.run)
	if o.run.Status != core.RunWaiting || len(o.run.Tickets) != 1 {
		t.Fatalf("the run of ann is %+v, want one that waits", o.run)
	}
	o.must(t, "PATCH", "/v1/threads/t1", `{"title":"`+jewels+`"}`, nil)
	var queued struct {
		Dispatch string `json:"dispatch_id"`
	}
	o.must(t, "POST", "/v1/threads/t1/messages", `{"delay_ms":3600000,"messages":[{"role":"user","content":"`+jewels+`"}]}`, &queued)
	o.input = queued.Dispatch
	return o
}

// fill puts the ids of ann's thread into a path or a body.
func (o *owned) fill(text string) string {
	return strings.NewReplacer(
		"{thread}", "t1", "{run}", o.run.ID.String(), "{step}", "1", "{agent}", "demo", "{input}", o.input,
		"THREAD", "t1", "RUN", o.run.ID.String(), "CALL", o.run.Tickets[0].CallID, "INPUT", o.input,
	).Replace(text)
}

// routes are those of the OpenAPI document, and those that the other protocols have in
// their sources, as METHOD PATH.
func (o *owned) routes(t *testing.T) (all []string) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct{ RequestBody json.RawMessage }
	}
	o.must(t, "GET", "/openapi.json", "", &document)
	for path, methods := range document.Paths {
		for method, operation := range methods {
			route := strings.ToUpper(method) + " " + path
			if bodies[route] == "" && len(operation.RequestBody) > 0 {
				t.Errorf("route %s has a body, and none is in the table of this test", route)
			}
			all = append(all, route)
		}
	}
	native := len(all)
	sources, err := filepath.Glob("../../../adapters/protocols/*/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`"((?:GET|POST|PUT|PATCH|DELETE) /v1/(?:ai-sdk|ag-ui|a2a|openai)[^"]*)"`)
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1])
		}
	}
	all = append(all, "POST /v1/mcp")
	if native < 40 || len(all) < native+17 {
		t.Errorf("%d routes of the API and %d of other protocols, want 40 and 17 or more", native, len(all)-native)
	}
	var capabilities struct{ Protocols []string }
	o.must(t, "GET", "/v1/capabilities", "", &capabilities)
	for _, p := range capabilities.Protocols {
		if p != "native" && !slices.ContainsFunc(all, func(r string) bool { return strings.Contains(r, p) }) {
			t.Errorf("no route of the protocol at %s is tried", p)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryRouteAsksWhoIsCalling sends a request to each route of running functions: without
// credentials, with forged ones, as another user, and as a user of the same name in another
// tenant. None reads or changes anything of the thread's owner.
func TestEveryRouteAsksWhoIsCalling(t *testing.T) {
	t.Parallel()
	began, o := time.Now(), newOwned(t)
	stranger := newIssuer(t)
	forged := stranger.token(fmt.Sprintf(`,"iss":%q`, o.tokens.url)) // the key is another's
	buffered := *o
	buffered.url = o.front(t, host.Front{Function: "api", Shape: host.ShapeHTTP})
	bob := o.tokens.of("acme", "bob")
	for n, route := range o.routes(t) {
		method, path, _ := strings.Cut(route, " ")
		path, body := o.fill(path)+queries[route], o.fill(bodies[route])
		want := [2]int{404, 404}
		if statuses, ok := foreign[route]; ok {
			want = statuses
		}
		for _, try := range []struct {
			at    *owned
			token string
		}{{o, ""}, {o, forged}, {&buffered, ""}} {
			status, text := try.at.ask(t, try.token, method, path, body)
			if allowed := slices.Contains(open, route); allowed != (status == 200) || !allowed && status != 401 {
				t.Errorf("%s without credentials: %d %.200s", route, status, text)
			}
		}
		if slices.Contains(open, route) {
			continue
		}
		version := o.version(t)
		for i, token := range []string{bob, o.tokens.of(fmt.Sprint("globex-", n), "ann")} {
			who := []string{"another user", "another tenant"}[i]
			status, text := o.ask(t, token, method, path, body)
			if status != want[i] {
				t.Errorf("%s as %s: %d, want %d: %.200s", route, who, status, want[i], text)
			}
			if o.shows(text, path+body) {
				t.Errorf("%s as %s shows the owner's data: %s", route, who, text)
			}
		}
		if now := o.version(t); now != version {
			t.Errorf("%s by another user or tenant changed the thread from version %d to %d", route, version, now)
		}
	}
	// Each process fetches once, and at most once a minute for signatures that are wrong.
	if n, most := int(o.tokens.fetches.Load()), len(o.host.Starts())*(1+int(time.Since(began)/time.Minute)); n > most {
		t.Errorf("the keys were fetched %d times, at most %d are expected", n, most)
	}
}

// version is that of the head of ann's thread, which every change of it counts up.
func (o *owned) version(t *testing.T) uint64 {
	t.Helper()
	h, err := o.store.Head(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	return uint64(h.Version)
}

// shows reports whether a response has data of ann's thread that the request does not have.
func (o *owned) shows(text, sent string) bool {
	return slices.ContainsFunc([]string{jewels, o.run.ID.String(), o.run.Tickets[0].CallID, o.input}, func(secret string) bool {
		return strings.Contains(text, secret) && !strings.Contains(sent, secret)
	})
}
