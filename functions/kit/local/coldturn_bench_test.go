package local

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// BenchmarkColdTurn is the first turn of a process in a long thread, over HTTP on a file:
// nothing of the thread is in memory, and its log is read back as far as the window goes.
// A turn is a message and its response. Opening the file is not in the time, and neither is
// the garbage of the processes before: one that is really new collects none in this turn at
// 1,000 turns, and once at 4,000.
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
	defer debug.SetGCPercent(debug.SetGCPercent(100))
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
	took := make([]time.Duration, b.N)
	var warm, cpu time.Duration
	for i := range took {
		b.StopTimer()
		process(func(url string) {
			runtime.GC()
			before := cpuTime(b)
			b.StartTimer()
			began := time.Now()
			streamText(b, client, url, "t", "hello")
			took[i] = time.Since(began)
			b.StopTimer()
			cpu += cpuTime(b) - before
			from := time.Now()
			streamText(b, client, url, "t", "hello")
			warm += time.Since(from)
		})
		b.StartTimer()
	}
	reportTimes(b, took)
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	b.ReportMetric(float64(warm.Microseconds())/float64(b.N)/1000, "warm-ms/op")
}
