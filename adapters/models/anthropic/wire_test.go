package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const whole = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

data: {"type":"message_stop"}

`

// serve answers with status and body, and returns its address and what it was asked, a
// line of path and headers each.
func serve(t *testing.T, answer func(r *http.Request) (status int, body string)) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, fmt.Sprintf("%s %s key %q version %q beta %q", r.Method, r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Anthropic-Beta")))
		status, body := answer(r)
		w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[status == http.StatusOK])
		w.Header().Set("Request-Id", "req_1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func ask(t *testing.T, m *provider, request model.Request) (text string, err error) {
	t.Helper()
	for d, err := range m.Stream(t.Context(), request) {
		if err != nil {
			return text, err
		}
		text += d.Text
	}
	return text, nil
}

func TestHeaders(t *testing.T) {
	bound := model.Request{
		Model: "claude-opus-5-5", Origin: "anthropic/claude-opus-5-5",
		Messages: append([]core.Message{said(core.RoleUser, "hi")}, thought("anthropic/claude-opus-5-5", "claude-opus-5-5")...),
	}
	plain := model.Request{Model: "claude-opus-5-5", Messages: []core.Message{said(core.RoleUser, "hi")}}
	tests := []struct {
		name    string
		options Options
		path    string
		request model.Request
		want    string
	}{
		{"the defaults", Options{}, "", plain, `POST /v1/messages key "" version "2023-06-01" beta ""`},
		{"a key", Options{APIKey: "sk-1"}, "/", plain, `POST /v1/messages key "sk-1" version "2023-06-01" beta ""`},
		{"a version and betas behind a gateway", Options{Version: "2027-01-01", Betas: []string{"a-1", "b-2"}}, "/proxy/", plain,
			`POST /proxy/v1/messages key "" version "2027-01-01" beta "a-1,b-2"`},
		{"what thinking needs", Options{}, "", bound, `POST /v1/messages key "" version "2023-06-01" beta "thinking-binding-controls-2026-08-01"`},
		{"and others", Options{Betas: []string{"a-1"}}, "", bound, `POST /v1/messages key "" version "2023-06-01" beta "a-1,thinking-binding-controls-2026-08-01"`},
		{"once", Options{Betas: []string{"thinking-binding-controls-2026-08-01"}}, "", bound, `POST /v1/messages key "" version "2023-06-01" beta "thinking-binding-controls-2026-08-01"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, asked := serve(t, func(*http.Request) (int, string) { return 200, whole })
			test.options.BaseURL = url + test.path
			m, err := open(test.options)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a request changes nothing for the next
				if text, err := ask(t, m, test.request); err != nil || text != "Hi." {
					t.Fatalf("text %q, %v", text, err)
				}
			}
			if diff := cmp.Diff([]string{test.want, test.want}, *asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAKeyThatWasReplacedIsTakenUp(t *testing.T) {
	url, asked := serve(t, func(r *http.Request) (int, string) {
		if key := r.Header.Get("X-Api-Key"); key != "sk-new" {
			return 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`
		}
		return 200, whole
	})
	keys := func(_ context.Context, refused secret.String) (secret.String, error) {
		if refused.IsZero() {
			return secret.New("sk-old"), nil
		}
		return secret.New("sk-new"), nil
	}
	m, err := open(Options{BaseURL: url, Key: keys})
	if err != nil {
		t.Fatal(err)
	}
	request := model.Request{Model: "m", Messages: []core.Message{said(core.RoleUser, "hi")}}
	if text, err := ask(t, m, request); err != nil || text != "Hi." {
		t.Errorf("text %q, %v", text, err)
	}
	if got := strings.Join(*asked, "\n"); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"sk-old"`) || !strings.Contains(got, `"sk-new"`) {
		t.Errorf("asked\n%s", got)
	}
	m, err = open(Options{BaseURL: url, APIKey: "sk-old"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t, m, request)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindUnauthorized || e.Message != "anthropic: status 401: invalid x-api-key *** (request req_1)" {
		t.Errorf("error %v", err)
	}
}

func TestOptionsThatAreWrongAreNamed(t *testing.T) {
	source := func(context.Context, secret.String) (secret.String, error) { return secret.String{}, nil }
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"a base URL", Options{BaseURL: "api.anthropic.com"}, `anthropic: base URL "api.anthropic.com" is not an absolute http or https URL`},
		{"a key", Options{APIKey: "sk\n"}, "anthropic: API key has a space, a line end or another character that a header cannot carry"},
		{"two keys", Options{APIKey: "sk", Key: source}, "anthropic: both an API key and a source of keys are set, want one of them"},
		{"a version", Options{Version: "1 2"}, "anthropic: version has a space, a line end or another character that a header cannot carry"},
		{"a beta", Options{Betas: []string{"a", "b\r"}}, `anthropic: beta "b\r" has a space, a line end or another character that a header cannot carry`},
		{"a time", Options{IdleTimeout: -1}, "anthropic: idle timeout -1ns is negative"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(test.options)
			if core.CodeOf(err) != core.CodeInvalid || err.Error() != test.want {
				t.Errorf("error %v (%s), want %s", err, core.CodeOf(err), test.want)
			}
		})
	}
}

func TestOptionsDoNotShowTheKey(t *testing.T) {
	o := Options{APIKey: "sk-ant-1", Betas: []string{"a-1"}}
	const want = "{APIKey:*** BaseURL: Version: Betas:[a-1] IdleTimeout:0s}"
	if got := fmt.Sprintf("%+v", o); got != want {
		t.Errorf("%s", got)
	}
	if text, err := json.Marshal(o); err != nil || strings.Contains(string(text), "sk-ant") {
		t.Errorf("%s, %v", text, err)
	}
	if got := fmt.Sprint(Options{}); got != "{APIKey: BaseURL: Version: Betas:[] IdleTimeout:0s}" {
		t.Errorf("%s", got)
	}
}
