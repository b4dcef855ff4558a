package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
)

// BenchmarkStream is a run that says 1,000 deltas as fast as it can, over a real
// connection whose client reads everything. cpu-ms/op is both sides together.
func BenchmarkStream(b *testing.B) {
	events := hello()
	delta := events[3]
	delta.Delta = "word "
	f := &fake{stream: func(_ context.Context, s sinkFunc) error {
		_ = play(s, events[:2])
		for range 1000 {
			if err := s(delta); err != nil {
				return err
			}
		}
		return play(s, events[4:])
	}}
	server := httptest.NewServer(newServer(f))
	defer server.Close()
	b.ReportAllocs()
	began, used := time.Now(), stresstest.ProcessorTime(b)
	for b.Loop() {
		response, err := http.Post(server.URL+"/v1/runs", "application/json", strings.NewReader(hi))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
		_ = response.Body.Close()
	}
	b.ReportMetric(float64(b.N)*1004/time.Since(began).Seconds(), "frames/s")
	b.ReportMetric(float64(stresstest.ProcessorTime(b)-used)/float64(b.N)/1e6, "cpu-ms/op")
}

// BenchmarkSubmit is a request that queues input, from its text to the response.
func BenchmarkSubmit(b *testing.B) {
	for _, tt := range []struct{ name, body string }{
		{"short", `{"messages":[{"role":"user","content":"hi"}]}`},
		{"all keys", `{"agent_id":"demo","mode":"queue","priority":7,"delay_ms":10,"request":{"page":"/"},"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"hi"},{"type":"file","media_type":"image/png","url":"https://example.com/a.png"}]}]}`},
		{"long", `{"messages":[{"role":"user","content":"` + strings.Repeat("some text ", 10_000) + `"}]}`},
		{"escaped", `{"messages":[{"role":"user","content":"` + strings.Repeat(`a \"line\"\n`, 1_000) + `"}]}`},
		{"many", `{"messages":[` + strings.Repeat(`{"role":"user","content":"hi"},`, 99) + `{"role":"user","content":"hi"}]}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			h := newServer(&fake{})
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "/v1/threads/t1/messages", strings.NewReader(tt.body))
				r.Header.Set("Content-Type", "application/json")
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				if rec.Code != 202 {
					b.Fatalf("status %d, %s", rec.Code, rec.Body)
				}
			}
		})
	}
}
