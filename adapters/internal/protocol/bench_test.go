package protocol_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
)

// BenchmarkServe is a stream of 1,000 deltas from a producer that never waits. The
// reader is a connection of the machine or, for the cost of the writer alone, takes
// everything in no time. cpu-ms/op is that of the whole process.
func BenchmarkServe(b *testing.B) {
	o := protocol.Server{Env: env.System(), Log: quiet}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = o.Serve(w, r, &repeating{}, func(l host.Listener) error {
			for range 1000 {
				if err := l.Emit(said); err != nil {
					return err
				}
			}
			return l.Emit(ended)
		})
	})
	b.Run("connection", func(b *testing.B) {
		server := httptest.NewServer(handler)
		defer server.Close()
		measure(b, func() error {
			response, err := http.Get(server.URL)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			_, err = io.Copy(io.Discard, response.Body)
			return err
		})
	})
	b.Run("discarded", func(b *testing.B) {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "/", nil)
		measure(b, func() error {
			handler.ServeHTTP(discarded{header: http.Header{}}, r)
			return nil
		})
	})
}

func measure(b *testing.B, stream func() error) {
	b.Helper()
	b.ReportAllocs()
	began, used := time.Now(), stresstest.ProcessorTime(b)
	for b.Loop() {
		if err := stream(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1001/time.Since(began).Seconds(), "frames/s")
	b.ReportMetric(float64(stresstest.ProcessorTime(b)-used)/float64(b.N)/1e6, "cpu-ms/op")
}

// repeating says the same of every event, so that encoding costs nothing.
type repeating struct {
	frame [1]protocol.Frame
	ended bool
}

func (e *repeating) Header() http.Header         { return nil }
func (e *repeating) Ended() bool                 { return e.ended }
func (e *repeating) Fail(error) []protocol.Frame { return nil }

func (e *repeating) Encode(event core.Event) ([]protocol.Frame, error) {
	e.ended = event.Type == core.EventRunFinish
	e.frame[0] = protocol.Frame{ID: "01890000-0000-7000-8000-000000000001.1.3.0-3-f", Data: word}
	return e.frame[:], nil
}

var word = []byte(`{"event_type":"text_delta","delta":"word "}`)

// discarded is a response that takes everything at once.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) WriteHeader(int)             {}
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) FlushError() error           { return nil }
