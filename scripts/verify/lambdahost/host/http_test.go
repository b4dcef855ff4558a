package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func serve(t *testing.T, h *Host, f Front) string {
	t.Helper()
	server := httptest.NewServer(h.Handler(f))
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestHTTPThroughEveryShape(t *testing.T) {
	h := newHost(t, function("stream"), function("buffered"))
	cognito := json.RawMessage(`{"claims":{"sub":"ada"}}`)
	iam := json.RawMessage(`{"iam":{"accountId":"123456789012","userId":"AIDAADA","cognitoIdentity":null}}`)
	jwt := json.RawMessage(`{"jwt":{"claims":{"sub":"ada"},"scopes":null}}`)
	tests := []struct {
		name  string
		front Front
		many  []string
		path  string
		user  string
	}{
		{"Function URL, streamed", Front{Function: "stream", Authorizer: iam}, []string{"1, 2"}, "/echo/a%2Fb", "iam:AIDAADA"},
		{"REST API, streamed", Front{Function: "stream", Shape: ShapeREST, Authorizer: cognito}, []string{"1", "2"}, "/echo/a%2Fb", "ada"},
		{"REST API, buffered", Front{Function: "buffered", Shape: ShapeREST, Authorizer: cognito}, []string{"1", "2"}, "/echo/a%2Fb", "ada"},
		{"HTTP API, buffered", Front{Function: "buffered", Shape: ShapeHTTP, Authorizer: jwt}, []string{"1,2"}, "/echo/a/b", "ada"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := serve(t, h, tt.front)
			request, _ := http.NewRequest(http.MethodPost, url+"/echo/a%2Fb?x=1&x=2%20", strings.NewReader("hello"))
			request.Header.Set("Content-Type", "application/octet-stream")
			request.Header.Set("Accept", "application/json, text/event-stream")
			request.Header.Set("Cookie", "sid=1; theme=dark")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var got map[string]any
			if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"method": "POST", "path": tt.path, "query": map[string]any{"x": []any{"1", "2 "}}, "body": "hello",
				"cookie": "sid=1; theme=dark", "accept": "application/json, text/event-stream", "caller": tt.user,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if response.StatusCode != 201 || response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d, header %v", response.StatusCode, response.Header)
			}
			if diff := cmp.Diff(tt.many, response.Header["X-Many"]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"a=1", "b=2"}, response.Header["Set-Cookie"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	h := newHost(t, function("stream"), function("buffered"))
	for _, f := range []Front{{Function: "stream"}, {Function: "buffered", Shape: ShapeREST}, {Function: "buffered", Shape: ShapeHTTP}} {
		url := serve(t, h, f)
		if body, err := io.ReadAll(get(t, url+"/binary").Body); string(body) != "\x00\x01\xff" || err != nil {
			t.Errorf("%+v: binary body %q, %v", f, body, err)
		}
		response := get(t, url+"/empty")
		if body, err := io.ReadAll(response.Body); response.StatusCode != 204 || len(body) != 0 || err != nil {
			t.Errorf("%+v: empty body %q, status %d, %v", f, body, response.StatusCode, err)
		}
	}
}

// The function goes on only after the client has read the first event.
func TestStreamArrivesAsItIsWritten(t *testing.T) {
	h := newHost(t, function("stream"))
	for _, shape := range []Shape{ShapeURL, ShapeREST} {
		g := newGate(t)
		body := bufio.NewReader(get(t, serve(t, h, Front{Function: "stream", Shape: shape})+"/chunks?gate="+g.url).Body)
		if line, err := body.ReadString('\n'); line != "data: 1\n" || err != nil {
			t.Fatalf("%s: %q, %v", shape, line, err)
		}
		<-g.arrived
		g.open <- struct{}{}
		if rest, err := io.ReadAll(body); string(rest) != "\ndata: 2\n\n" || err != nil {
			t.Errorf("%s: %q, %v", shape, rest, err)
		}
	}
}

func TestBrokenStreamIsSeenAsBroken(t *testing.T) {
	t.Parallel() // it waits for a deadline
	f := function("stream")
	f.Concurrency = 1 // so that an invocation waits for the sandbox of the one before
	stuck := function("stream")
	stuck.Name, stuck.Timeout = "stuck", 6*time.Second // its handler is ended after 3 s, the process after 6 s
	h := newHost(t, f, stuck)
	url := serve(t, h, Front{Function: "stream"})
	tests := []struct{ name, url, want string }{
		{"a panic", url + "/panic", "data: 1\n\nevent: error\ndata: {\"error\":\"internal error\",\"code\":\"internal\"}\n\n"},
		{"a handler that ignores its deadline", serve(t, h, Front{Function: "stuck"}) + "/stuck", "data: 1\n\nevent: error\ndata: {\"error\":\"no response in time\",\"code\":\"unavailable\"}\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			response := get(t, tt.url)
			body, err := io.ReadAll(response.Body)
			if response.StatusCode != 200 || string(body) != tt.want || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("status %d, body %q, error %v", response.StatusCode, body, err)
			}
		})
	}
	t.Run("a crash", func(t *testing.T) {
		g := newGate(t)
		body := bufio.NewReader(get(t, url+"/crash?gate="+g.url).Body)
		if line, err := body.ReadString('\n'); line != "data: 1\n" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		<-g.arrived
		g.open <- struct{}{}
		if rest, err := io.ReadAll(body); string(rest) != "\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", rest, err)
		}
	})
	if response := get(t, url+"/echo/"); response.StatusCode != 201 {
		t.Errorf("afterwards: status %d", response.StatusCode)
	}
	if n := len(h.Starts()); n != 3 { // one was stuck; the panic cost no process, the crash one
		t.Errorf("%d starts, want 3", n)
	}
}

func TestFunctionGoesOnWithoutItsClient(t *testing.T) {
	h := newHost(t, function("stream"))
	g := newGate(t)
	response := get(t, serve(t, h, Front{Function: "stream"})+"/flood?gate="+g.url)
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); line != "data: 1\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	<-g.arrived
	_ = response.Body.Close()
	g.open <- struct{}{}
	<-g.arrived // after 4 MB that nobody reads
	g.open <- struct{}{}
}

func TestFailedInvocationsOverHTTP(t *testing.T) {
	slow := function("event")
	slow.Name, slow.Timeout, slow.Env = "slow", 300*time.Millisecond, []string{"MODE=event"}
	h := newHost(t, function("event"), function("exit"), slow)
	if response := get(t, serve(t, h, Front{Function: "exit"})); response.StatusCode != 502 {
		t.Errorf("crash: status %d", response.StatusCode)
	}
	if response := get(t, serve(t, h, Front{Function: "none"})); response.StatusCode != 404 {
		t.Errorf("unknown function: status %d", response.StatusCode)
	}
	if response := get(t, serve(t, h, Front{Function: "event", Shape: ShapeREST})); response.StatusCode != 502 {
		t.Errorf("a response without statusCode to a REST API: status %d", response.StatusCode)
	}
	response := get(t, serve(t, h, Front{Function: "event"}))
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 200 || string(body) != `""` {
		t.Errorf("a response without statusCode to a Function URL: status %d, body %q", response.StatusCode, body)
	}
	if err := Shape("x").Check(); err == nil || err.Error() != `shape "x" is unknown, allowed are url, rest, http` {
		t.Error(err)
	}
}
