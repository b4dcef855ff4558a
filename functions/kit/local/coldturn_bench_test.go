package local

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// BenchmarkColdTurn is the first turn of a process in a long thread, over HTTP on a file:
// nothing of the thread is in memory, and its log is read back as far as the window goes.
// A turn is a message and its response. Opening the file is not in the time.
func BenchmarkColdTurn(b *testing.B) {
	for _, turns := range []int{1_000, 4_000} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) { coldTurns(b, turns) })
	}
}

func coldTurns(b *testing.B, turns int) {
	path := filepath.Join(b.TempDir(), "data.db")
	s, err := settings.Read(nil)
	if err != nil {
		b.Fatal(err)
	}
	s.Data = path
	collectRarely(os.Environ())
	process := func(take func(url string)) {
		h, err := newHost(b.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
		if err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(h.handler)
		defer func() {
			server.Close()
			h.shutDown()
		}()
		take(server.URL)
	}
	client := &http.Client{}
	process(func(url string) {
		for range turns {
			streamText(b, client, url, "t", "hello")
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	var warm, cpu time.Duration
	for range b.N {
		b.StopTimer()
		process(func(url string) {
			before := cpuTime(b)
			b.StartTimer()
			streamText(b, client, url, "t", "hello")
			b.StopTimer()
			cpu += cpuTime(b) - before
			from := time.Now()
			streamText(b, client, url, "t", "hello")
			warm += time.Since(from)
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	b.ReportMetric(float64(warm.Microseconds())/float64(b.N)/1000, "warm-ms/op")
}
