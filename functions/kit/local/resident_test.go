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

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// BenchmarkResidentThreads is the memory that the local host has for threads of one run of
// two steps each, after the runs. It counts what is referred to, without garbage.
func BenchmarkResidentThreads(b *testing.B) {
	for _, data := range []string{"memory", "bolt"} {
		b.Run(data, func(b *testing.B) {
			if data == "bolt" {
				data = filepath.Join(b.TempDir(), "data.db")
			}
			defer debug.SetGCPercent(debug.SetGCPercent(100))
			_ = collectRarely(os.Environ())
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

// The conversations that a host caches take no more of the heap than the cache may: with a
// cache of another size, nothing else is different.
func TestTheCacheOfTheHostIsBounded(t *testing.T) {
	const threads, size = 200, 300_000 // they would take twice as much
	takes := func(cache int) int64 {
		s, err := settings.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Data, s.CacheSize = "memory", cache
		_, h := serveSettings(t, s)
		run := runner(t, h)
		run("first") // what a process has once
		before := liveHeap()
		for i := range threads {
			run("t" + strconv.Itoa(i))
		}
		after := liveHeap()
		runtime.KeepAlive(h)
		return after - before
	}
	takes(1) // the types of a process are looked at once
	without, bounded, all := takes(1), takes(size), takes(64<<20)
	t.Logf("%d threads take %d bytes, with a cache of %d bytes %d, with a large one %d", threads, without, size, bounded, all)
	if took := bounded - without; took > size*11/10 || took < size/2 {
		t.Errorf("the cache takes %d bytes, want at most %d", took, size)
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
