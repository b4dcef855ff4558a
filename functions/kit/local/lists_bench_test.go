package local

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLists is what the page reads to open a thread of 100 runs, and its lists of runs
// and threads: requests to the local host on bbolt.
func BenchmarkLists(b *testing.B) {
	url, _ := serveOpenHost(b, filepath.Join(b.TempDir(), "data.db"))
	client := &http.Client{}
	for range 100 {
		streamRun(b, client, url, "long")
	}
	for i := range 50 {
		streamRun(b, client, url, fmt.Sprint("t", i))
	}
	for name, path := range map[string]string{
		"runs of a thread": "/v1/threads/long/runs?limit=100", "runs": "/v1/runs?limit=50", "runs found": "/v1/runs?limit=50&q=oslo",
		"threads": "/v1/threads/summaries?limit=50", "messages": "/v1/threads/long/messages?order=desc&limit=200", "summary": "/v1/runs/summary",
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status, body := get(b, url+path); status != http.StatusOK {
					b.Fatalf("status %d: %.200s", status, body)
				}
			}
		})
	}
}
