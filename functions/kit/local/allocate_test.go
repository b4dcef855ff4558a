//go:build !race

package local

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/host"
)

// TestStreamedRunAllocatesLittle counts what the server allocates for one run of
// two steps that is streamed to its client: everything between the request that
// net/http has read and the bytes that it would send, which is the whole handler
// of the local host, the runtime and the memory store. The client, the connection
// and the request are outside: one request and one response are used for all runs.
// The race detector allocates, too, so that the test is left out under it.
func TestStreamedRunAllocatesLittle(t *testing.T) {
	const runs, most, mostBytes = 300, 300, 40_300 // objects and bytes a run, 250 of these for the places of child runs and times; some 30 of them record what it used, 6 what models were shown, 5 log the request, and 8 bound request and response
	_, h := serveOpenHost(t, "memory")
	bodies := make([][]byte, runs+2)
	for i := range bodies {
		bodies[i] = []byte(`{"thread_id":"t` + strconv.Itoa(i) + `","messages":[{"role":"user","content":"echo: hello"}]}`)
	}
	body := new(bytes.Reader)
	request := httptest.NewRequest(http.MethodPost, "http://localhost/v1/runs", io.NopCloser(body))
	request = request.WithContext(host.ForHost(t.Context())) // as serve has them
	request.Header.Set("Content-Type", "application/json")
	response, next := &sunk{header: http.Header{}}, 0
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools; the runs are 30 MB
	run := func() {
		body.Reset(bodies[next])
		request.ContentLength = int64(len(bodies[next]))
		next++
		clear(response.header)
		response.status, response.ended = http.StatusOK, false
		h.handler.ServeHTTP(response, request)
		if response.status != http.StatusOK || !response.ended {
			t.Fatalf("status %d, run_finish seen %t", response.status, response.ended)
		}
	}
	run() // encoders and pools are made once
	before := allocated()
	got := testing.AllocsPerRun(runs, run)
	bytes := (allocated() - before) / (runs + 1)
	t.Logf("%g objects and %d bytes a run", got, bytes)
	if got > most {
		t.Errorf("a streamed run of two steps allocates %g objects, at most %d are wanted", got, most)
	}
	if bytes > mostBytes {
		t.Errorf("a streamed run of two steps allocates %d bytes, at most %d are wanted", bytes, mostBytes)
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// sunk is a response that goes nowhere, with what net/http's can do.
type sunk struct {
	header http.Header
	status int
	ended  bool // the run's last event went by
}

// Header implements http.ResponseWriter.
func (s *sunk) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *sunk) WriteHeader(status int) { s.status = status }

// Write implements http.ResponseWriter.
func (s *sunk) Write(b []byte) (int, error) {
	s.ended = s.ended || bytes.Contains(b, []byte("natural_end"))
	return len(b), nil
}

// FlushError implements what http.ResponseController looks for.
func (s *sunk) FlushError() error { return nil }

// SetReadDeadline implements what http.ResponseController looks for.
func (s *sunk) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements what http.ResponseController looks for.
func (s *sunk) SetWriteDeadline(time.Time) error { return nil }
