package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

func TestErrorsNameNoTypesOfTheProgram(t *testing.T) {
	r := newReal(t)
	for path, body := range map[string]string{
		"/v1/runs":                `{"agent_id":"demo","thread_id":"t1","mode":"queue","request":{"a":1},"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		"/v1/threads":             `{"thread_id":"t2","title":"T","metadata":{"a":1}}`,
		"/v1/threads/t1/decision": `{"tool_call_id":"c1","action":"resume","payload":{"approved":true},"remember":"run"}`,
		"/v1/threads/t1/mailbox":  `{"payload":{"a":1}}`,
	} {
		for _, body := range stresstest.Mistyped(body) {
			if rec := do(r, "POST", path, body); stresstest.NamesTypes(rec.Body.String()) || rec.Code >= 500 {
				t.Errorf("%s %s\n%d %s", path, strings.TrimSpace(body), rec.Code, rec.Body)
			}
		}
	}
}

// 100,000 keys in less than 1 MB took 19 s when each was compared with all before it.
func TestABodyOfManyKeysIsRefusedAsQuickly(t *testing.T) {
	r := newReal(t)
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"%x":0,`, i)
	}
	began := time.Now()
	check(t, do(r, "POST", "/v1/runs", `{`+keys.String()+`"messages":[]}`), 400, `{"error":"unknown field \"0\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms, regenerate_from, replace_message, threadId","code":"invalid"}`)
	check(t, do(r, "POST", "/v1/runs", `{`+keys.String()+`"messages":[{"role":"user","content":"hi"}]}`), 400,
		`{"error":"unknown field \"0\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms, regenerate_from, replace_message, threadId","code":"invalid"}`)
	if took := time.Since(began); took > 10*time.Second { // a tenth of a second each
		t.Errorf("two bodies took %s", took)
	}
	for _, n := range []int{2, 15, 16, 17, 40} {
		var few strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&few, `"k%d":0,`, i)
		}
		for _, twice := range []int{0, n - 2} {
			check(t, do(r, "POST", "/v1/threads/t1/mailbox", fmt.Sprintf(`{"payload":{%s"k%d":0}}`, few.String(), twice)), 400, fmt.Sprintf(`{"error":"payload.k%d is given twice","code":"invalid"}`, twice))
		}
	}
}

// A body whose client has left is not decoded on, and starts nothing.
func TestDecodingEndsWhenTheClientHasLeft(t *testing.T) {
	f := &fake{}
	for name, body := range map[string]string{
		"keys":     `{"messages":[{"role":"user","content":"hi"}]}`,
		"messages": `{"messages":[` + strings.Repeat(`{"role":"user","content":"hi"},`, 600) + `{"role":"user","content":"hi"}]}`,
	} {
		r := httptest.NewRequest("POST", "/v1/threads/t1/messages", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		ctx := &leaving{Context: r.Context(), after: map[string]int{"keys": 0, "messages": 3}[name]}
		rec := httptest.NewRecorder()
		newServer(f).ServeHTTP(rec, r.WithContext(ctx))
		if rec.Code != 503 || len(f.submissions) > 0 {
			t.Errorf("%s: %d %s, %d submissions", name, rec.Code, rec.Body, len(f.submissions))
		}
	}
}

// A mounted handler reads no further than its client stays.
func TestAMountReadsNothingForAClientThatHasLeft(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	read := func(w http.ResponseWriter, r *http.Request) {
		part := make([]byte, 4)
		if n, err := r.Body.Read(part); n != 4 || err != nil {
			t.Errorf("with its client there %d bytes and %v are read, want 4", n, err)
		}
		leave()
		if rest, err := io.ReadAll(r.Body); len(rest) > 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("of the rest %q is read, with error %v", rest, err)
		}
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/mounted", strings.NewReader(`{"a":"rest"}`))
	r.Header.Set("Content-Type", "application/json")
	s := newServer(&fake{}, func(o *httpapi.Options) {
		o.Mounts = map[string]http.Handler{"/v1/mounted": http.HandlerFunc(read)}
	})
	s.ServeHTTP(httptest.NewRecorder(), r)
	if ctx.Err() == nil {
		t.Error("the mount was not asked")
	}
}

// leaving is a context that ends after it was asked a number of times.
type leaving struct {
	context.Context
	after int
}

func (l *leaving) Err() error {
	if l.after--; l.after < 0 {
		return context.Canceled
	}
	return nil
}
