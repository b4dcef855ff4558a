//go:build !race

package local

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// BenchmarkResidentThreads is the memory that the local host has for threads of one run of
// two steps each, after the runs. Live is what is still referred to; resident is what the
// heap takes with the garbage that the collector allows, as long as other requests make some.
func BenchmarkResidentThreads(b *testing.B) {
	for _, data := range []string{"memory", "bolt"} {
		b.Run(data, func(b *testing.B) {
			if data == "bolt" {
				data = filepath.Join(b.TempDir(), "data.db")
			}
			defer debug.SetGCPercent(debug.SetGCPercent(100))
			collectRarely(os.Environ())
			_, h := serveOpenHost(b, data)
			run := runner(b, h)
			for i := range 100 { // what a process has once
				run("first" + strconv.Itoa(i))
			}
			before := liveHeap()
			for i := range b.N {
				run("t" + strconv.Itoa(i))
			}
			live := float64(liveHeap()-before) / float64(b.N) * 1000 / (1 << 20)
			b.ReportMetric(live, "live-MB/1000threads")
			runtime.KeepAlive(h)
		})
	}
}

// liveHeap is how many bytes of the heap are referred to.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // pools are empty after the second one
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// runner returns a function that runs a run of two steps on a thread, with the whole handler
// of the host.
func runner(tb testing.TB, h *localHost) func(thread string) {
	body := new(bytes.Reader)
	request := httptest.NewRequest(http.MethodPost, "http://localhost/v1/runs", io.NopCloser(body))
	request.Header.Set("Content-Type", "application/json")
	response := &sunk{header: http.Header{}}
	return func(thread string) {
		text := []byte(`{"thread_id":"` + thread + `","messages":[{"role":"user","content":"echo: hello"}]}`)
		body.Reset(text)
		request.ContentLength = int64(len(text))
		clear(response.header)
		response.status, response.ended = http.StatusOK, false
		h.handler.ServeHTTP(response, request)
		if response.status != http.StatusOK || !response.ended {
			tb.Fatalf("status %d, run_finish seen %t", response.status, response.ended)
		}
	}
}
