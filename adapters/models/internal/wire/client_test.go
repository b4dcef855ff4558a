package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const testKey = "sk-secret-0123456789"

// parse reads {"busy"} as overloaded and everything else as it is.
func parse(_ int, body []byte) (Failure, bool) {
	if string(body) == `{"busy"}` {
		return Failure{Kind: model.KindOverloaded, Message: "busy"}, true
	}
	return Failure{Message: string(body)}, false
}

// bearer sets the key as most providers want it.
func bearer(h http.Header, key secret.String) {
	if !key.IsZero() {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
}

// stream posts to a server and writes one line a delta, the error last.
func stream(ctx context.Context, c Client, url string) ([]string, *model.Error) {
	var out []string
	var failed *model.Error
	c.Name, c.Parse = "a", parse
	c.Base, _ = neturl.Parse(url)
	post := Post{URL: url, Body: []byte(`{"q":1}`), Header: bearer}
	client, err := New(c)
	if err != nil {
		return []string{"new " + err.Error()}, nil
	}
	for d, err := range client.Stream(ctx, post, func() Turn { return &words{} }) {
		switch {
		case errors.As(err, &failed):
			out = append(out, "error "+err.Error())
		case err != nil:
			out = append(out, "other "+err.Error())
		default:
			out = append(out, d.Text+string(d.Stop))
		}
	}
	return out, failed
}

// made is New of what is right.
func made(t *testing.T, c Client) *Client {
	t.Helper()
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAStreamIsPostedAndRead(t *testing.T) {
	var got http.Header
	var body string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r.Header, r.Method+" "+string(b)
		_, _ = io.WriteString(w, "data: a\n\ndata: .\n\n")
	})
	source, err := Source("a", testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := stream(t.Context(), Client{Key: source}, url)
	if diff := cmp.Diff([]string{"a", "end_turn"}, said); diff != "" {
		t.Error(diff)
	}
	if body != `POST {"q":1}` || got.Get("Authorization") != "Bearer "+testKey || got.Get("Content-Type") != "application/json" || got.Get("Accept") != "text/event-stream" {
		t.Errorf("request %s with %v", body, got)
	}
}

func TestRefusalsAreFailures(t *testing.T) {
	source, err := Source("a", testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   model.Error
	}{
		{"by its code", 400, nil, `{"busy"}`, model.Error{Kind: model.KindOverloaded, Status: 400, Message: "a: status 400: busy"}},
		{"by its status", 429, http.Header{"Retry-After": {"20"}, "Request-Id": {"req_1"}}, "slow", model.Error{Kind: model.KindRateLimited, Status: 429, RetryAfter: 20 * time.Second, Message: "a: status 429: slow (request req_1)"}},
		{"by its message", 400, http.Header{"X-Request-Id": {"x"}}, "Prompt is too long", model.Error{Kind: model.KindOverflow, Status: 400, Message: "a: status 400: Prompt is too long (request x)"}},
		{"forbidden though flagged", 403, nil, "your input was flagged", model.Error{Kind: model.KindFiltered, Status: 403, Message: "a: status 403: your input was flagged"}},
		{"forbidden for its length", 403, nil, "prompt is too long", model.Error{Kind: model.KindUnauthorized, Status: 403, Message: "a: status 403: prompt is too long"}},
		{"the key is not shown", 401, nil, "no " + testKey, model.Error{Kind: model.KindUnauthorized, Status: 401, Message: "a: status 401: no ***"}},
		{"a failure with 200", 200, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, `{"busy"}`, model.Error{Kind: model.KindOverloaded, Message: "a: busy"}},
		{"no stream", 200, http.Header{"Content-Type": {"application/json"}}, `{}`, model.Error{Kind: model.KindInvalid, Message: "a: responded with application/json where a stream was asked for"}},
		{"a page", 200, http.Header{"Content-Type": {"text/html"}}, `<html>`, model.Error{Kind: model.KindInvalid, Message: "a: responded with text/html where a stream was asked for"}},
		{"a redirect is not followed", 307, http.Header{"Location": {"/elsewhere"}}, "", model.Error{Kind: model.KindInvalid, Status: 307, Message: "a: status 307: the server redirects to another path of the same host, and redirects are not followed: configure the final address as the provider's base URL"}},
		{"a long one", 500, nil, strings.Repeat("é", 100_000), model.Error{Kind: model.KindProvider, Status: 500, Message: "a: status 500: " + strings.Repeat("é", 248) + "..."}},
		{"in the stream", 200, nil, "event: error\ndata: no " + testKey + "\n\n", model.Error{Kind: model.KindProvider, Message: "a: no ***"}},
		{"in the stream, by its message", 200, nil, "event: error\ndata: maximum context\n\n", model.Error{Kind: model.KindOverflow, Message: "a: maximum context"}},
		{"no sense", 200, nil, "data: ?\n\n", model.Error{Kind: model.KindInterrupted, Message: "a: no word: ?"}},
		{"cut", 200, nil, "data: \n\n", model.Error{Kind: model.KindInterrupted, Message: "a: the stream ended before the turn did"}},
		{"too long an event", 200, nil, "data: " + strings.Repeat("x", 16<<20), model.Error{Kind: model.KindInvalid, Message: "a: an event of the stream is longer than 16 MB, the limit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", "text/event-stream")
				for name, values := range tt.header {
					w.Header()[name] = values
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			said, got := stream(t.Context(), Client{Key: source}, url)
			if diff := cmp.Diff(&tt.want, got); diff != "" || len(said) != 1 {
				t.Errorf("%q\n%s", said, diff)
			}
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	for status, want := range map[int]model.ErrorKind{
		0: model.KindProvider, 302: model.KindInvalid, 400: model.KindInvalid, 401: model.KindUnauthorized, 402: model.KindQuota, 403: model.KindUnauthorized,
		404: model.KindNotFound, 405: model.KindInvalid, 408: model.KindTimeout, 409: model.KindProvider, 413: model.KindOverflow, 422: model.KindInvalid,
		429: model.KindRateLimited, 500: model.KindProvider, 502: model.KindProvider, 503: model.KindOverloaded, 504: model.KindTimeout, 529: model.KindOverloaded,
	} {
		if got := KindOf(status, "x"); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
	if got := KindOf(422, "blocked by the content filter"); got != model.KindFiltered {
		t.Errorf("a filter is %s", got)
	}
	if got := KindOf(500, "prompt is too long"); got != model.KindProvider {
		t.Errorf("a status that says enough is %s", got)
	}
}

func TestAWaitIsBounded(t *testing.T) {
	f := Failure{Kind: model.KindRateLimited, RetryAfter: 48 * time.Hour, Message: "x"}
	var e *model.Error
	if !errors.As(f.named("a", secret.String{}), &e) || e.RetryAfter != 24*time.Hour {
		t.Errorf("retry after %v", e.RetryAfter)
	}
}

func TestAReplacedKeyIsTakenUpOnce(t *testing.T) {
	tests := []struct {
		name string
		keys []string // what the source gives, one call after the other
		fail error
		sent []string
		want []string
	}{
		{"the key is right", []string{"new"}, nil, []string{"Bearer new"}, []string{"end_turn"}},
		{"it was replaced", []string{"old", "new"}, nil, []string{"Bearer old", "Bearer new"}, []string{"end_turn"}},
		{"by another wrong one", []string{"old", "bad", "new"}, nil, []string{"Bearer old", "Bearer bad"}, []string{"error a: status 401: no key"}},
		{"by the same", []string{"old", "old"}, nil, []string{"Bearer old"}, []string{"error a: status 401: no key"}},
		{"there is none", []string{""}, nil, []string{""}, []string{"error a: status 401: no key"}},
		{"no key can be had", nil, errors.New("no secret"), nil, []string{"error a: the API key: no secret"}},
		{"a line end", []string{"x\n"}, nil, nil, []string{"error a: the API key has a space, a line end or another character that a header cannot carry"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent = append(sent, r.Header.Get("Authorization"))
				if r.Header.Get("Authorization") != "Bearer new" {
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = io.WriteString(w, "no key")
					return
				}
				_, _ = io.WriteString(w, "data: .\n\n")
			})
			n := 0
			source := func(context.Context, secret.String) (secret.String, error) {
				if tt.fail != nil {
					return secret.String{}, tt.fail
				}
				n++
				return secret.New(tt.keys[n-1]), nil
			}
			said, _ := stream(t.Context(), Client{Key: source}, url)
			if diff := cmp.Diff(tt.want, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("keys that were sent: %s", diff)
			}
		})
	}
}

func TestAKeyThatCannotBeHadNowMayBeHadLater(t *testing.T) {
	for err, want := range map[error]model.ErrorKind{
		core.Errorf(core.CodeUnavailable, "the store is away"): model.KindProvider,
		errors.New("no such secret"):                           model.KindUnauthorized,
	} {
		source := func(context.Context, secret.String) (secret.String, error) { return secret.String{}, err }
		if _, got := stream(t.Context(), Client{Key: source}, "https://unused.example"); got == nil || got.Kind != want {
			t.Errorf("%v is %+v, want %s", err, got, want)
		}
	}
}

// silent is a transport whose response says what it has to say and then nothing until
// the request's context ends.
type silent string

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(string(s)), blocked{r.Context()}), io.NopCloser(nil)}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
}

type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func TestSilenceEndsAStream(t *testing.T) {
	tests := []struct {
		name, says string
		client     time.Duration
		asked      time.Duration
		want       []string
		kind       model.ErrorKind
		waited     time.Duration
	}{
		{"nothing at all", "", 0, 0, []string{"error a: no data for 1m0s"}, model.KindTimeout, time.Minute},
		{"as the client says", "", 5 * time.Second, 0, []string{"error a: no data for 5s"}, model.KindTimeout, 5 * time.Second},
		{"as the request says", "", 5 * time.Second, 2 * time.Minute, []string{"error a: no data for 2m0s"}, model.KindTimeout, 2 * time.Minute},
		{"comments are no turn", ": wait\n\n", 0, 0, []string{"error a: no data for 1m0s"}, model.KindTimeout, time.Minute},
		{"the turn had begun", "data: a\n\n", 0, 0, []string{"a", "error a: no data for 1m0s"}, model.KindInterrupted, time.Minute},
		{"the turn may end here", "data: a\n\ndata: ;\n\n", 0, 0, []string{"a", "end_turn"}, "", time.Minute},
		{"it is complete", "data: .\n\n", 0, 0, []string{"end_turn"}, "", 250 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var said []string
				var kind model.ErrorKind
				c := made(t, Client{Name: "a", Parse: parse, HTTP: &http.Client{Transport: silent(tt.says)}, Idle: tt.client})
				for d, err := range c.Stream(t.Context(), Post{URL: "http://h", Idle: tt.asked}, func() Turn { return &words{} }) {
					var e *model.Error
					if errors.As(err, &e) {
						kind = e.Kind
						said = append(said, "error "+e.Message)
						continue
					}
					said = append(said, d.Text+string(d.Stop))
				}
				if diff := cmp.Diff(tt.want, said); diff != "" || kind != tt.kind {
					t.Errorf("kind %q, want %q\n%s", kind, tt.kind, diff)
				}
				if waited := time.Since(began); waited != tt.waited {
					t.Errorf("waited %v, want %v", waited, tt.waited)
				}
			})
		})
	}
}

// mute is a transport that has no response for a request until its context ends, or until
// as many others were refused with 401.
type mute struct{ refusals int }

func (m *mute) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.refusals > 0 {
		m.refusals--
		return &http.Response{StatusCode: 401, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no key"))}, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestSilenceBeforeTheHeadersEndsAStream(t *testing.T) {
	tests := []struct {
		name          string
		refusals      int
		client, asked time.Duration
		want          string
		waited        time.Duration
	}{
		{"as by default", 0, 0, 0, "a: no data for 1m0s", time.Minute},
		{"as the client says", 0, 5 * time.Second, 0, "a: no data for 5s", 5 * time.Second},
		{"as the request says", 0, 5 * time.Second, 10 * time.Minute, "a: no data for 10m0s", 10 * time.Minute},
		{"of the request with another key", 1, 0, 0, "a: no data for 1m0s", 31 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, keys := time.Now(), 0
				slow := func(context.Context, secret.String) (secret.String, error) { // its time is not the server's
					if keys++; keys > 1 {
						time.Sleep(30 * time.Minute)
					}
					return secret.New(strings.Repeat("k", keys)), nil
				}
				c := made(t, Client{Name: "a", Parse: parse, Key: slow, HTTP: &http.Client{Transport: &mute{tt.refusals}}, Idle: tt.client})
				var got *model.Error
				for _, err := range c.Stream(t.Context(), Post{URL: "http://h", Idle: tt.asked}, func() Turn { return &words{} }) {
					if !errors.As(err, &got) {
						t.Errorf("error %v", err)
					}
				}
				if diff := cmp.Diff(&model.Error{Kind: model.KindTimeout, Message: tt.want}, got); diff != "" {
					t.Error(diff)
				}
				if waited := time.Since(began); waited != tt.waited {
					t.Errorf("waited %v, want %v", waited, tt.waited)
				}
			})
		})
	}
}

func TestTheDefaultClientLeavesTheHeadersToTheIdleTimeout(t *testing.T) {
	c := made(t, Client{Name: "a", Base: &neturl.URL{Scheme: "https", Host: "models.example"}})
	if timeout := c.HTTP.Timeout; timeout != 0 {
		t.Errorf("it waits %v for the whole response", timeout)
	}
}

func TestTheCallersContextEndsTheWaitForTheHeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	c := made(t, Client{Name: "a", Parse: parse, HTTP: &http.Client{Transport: &mute{}}})
	for _, err := range c.Stream(ctx, Post{URL: "http://h"}, func() Turn { return &words{} }) {
		last = err
	}
	if !errors.Is(last, context.Canceled) || last.Error() != "a: inference: context canceled" {
		t.Errorf("error %v", last)
	}
}

func TestTheConsumersTimeIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := made(t, Client{Name: "a", Parse: parse, HTTP: &http.Client{Transport: silent("data: a\n\ndata: .\n\n")}})
		for _, err := range c.Stream(t.Context(), Post{URL: "http://h"}, func() Turn { return &words{} }) {
			if err != nil {
				t.Error(err)
			}
			<-time.After(10 * time.Minute)
		}
	})
}

func TestTheCallersContextIsItsOwn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	c := made(t, Client{Name: "a", Parse: parse, HTTP: &http.Client{Transport: silent("data: a\n\n")}})
	for _, err := range c.Stream(ctx, Post{URL: "http://h"}, func() Turn { return &words{} }) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || last.Error() != "a: inference: context canceled" {
		t.Errorf("error %v", last)
	}
}

func TestAConnectionServesTheNextTurn(t *testing.T) {
	var remotes []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		remotes = append(remotes, r.RemoteAddr)
		_, _ = io.WriteString(w, "data: .\n\n")
	})
	base, _ := neturl.Parse(url)
	client := made(t, Client{Name: "a", Base: base}).HTTP
	for range 2 {
		stream(t.Context(), Client{HTTP: client}, url)
	}
	if len(remotes) != 2 || remotes[0] != remotes[1] {
		t.Errorf("connections %q, want one", remotes)
	}
}

func TestNoResponse(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if _, e := stream(t.Context(), Client{}, server.URL); e == nil || e.Kind != model.KindProvider || !strings.HasPrefix(e.Message, "a: no response: dial tcp") {
		t.Errorf("error %v", e)
	}
	late := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Millisecond}}
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client go
		<-r.Context().Done()
	})
	if _, e := stream(t.Context(), Client{HTTP: late}, url); e == nil || e.Kind != model.KindTimeout {
		t.Errorf("error %v", e)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	source := func(context.Context, secret.String) (secret.String, error) { return secret.String{}, nil }
	url := func(text string) error { _, err := BaseURL("a", text); return err }
	key := func(key string, source secret.Source) error { _, err := Source("a", key, source); return err }
	tests := []struct {
		err  error
		want string
	}{
		{url("http://127.0.0.1:8080/v1/"), ""},
		{url("localhost:8080/v1"), `a: base URL "localhost:8080/v1" is not an absolute http or https URL`},
		{url("ftp://u:secret@x/v1"), `a: base URL "ftp://u:xxxxx@x/v1" is not an absolute http or https URL`},
		{url("https:///v1"), `a: base URL "https:///v1" is not an absolute http or https URL`},
		{url("http://u:secret@x:y/"), "a: base URL is not a URL"},
		{url("https://x/?a=b"), "a: base URL has a user, a query or a fragment; it may have a path only"},
		{url("https://x/?"), "a: base URL has a user, a query or a fragment; it may have a path only"},
		{url("https://x/#a"), "a: base URL has a user, a query or a fragment; it may have a path only"},
		{url("https://u:secret@x/"), "a: base URL has a user, a query or a fragment; it may have a path only"},
		{key("", nil), ""},
		{key("k", nil), ""},
		{key("", source), ""},
		{key("k", source), "a: both an API key and a source of keys are set, want one of them"},
		{key(testKey+"\n", nil), "a: API key has a space, a line end or another character that a header cannot carry"},
		{CheckHeader("a", "project", "ok"), ""},
		{CheckHeader("a", "project", "é"), "a: project has a space, a line end or another character that a header cannot carry"},
		{CheckIdle("a", 0), ""},
		{CheckIdle("a", -time.Second), "a: idle timeout -1s is negative"},
	}
	for _, tt := range tests {
		if tt.want == "" && tt.err != nil || tt.want != "" && (tt.err == nil || tt.err.Error() != tt.want || core.CodeOf(tt.err) != core.CodeInvalid) {
			t.Errorf("error %v, want %q", tt.err, tt.want)
		}
	}
}
