//go:build unix

package local

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkIdleFollowers is what 2,000 streams cost whose runs wait in the queue,
// server and clients together: each iteration watches them for five seconds. The
// metric is the share of one core.
func BenchmarkIdleFollowers(b *testing.B) {
	const followers, window = 2000, 5 * time.Second
	for _, threads := range []int{1, followers} {
		for _, data := range []string{"memory", "file"} {
			b.Run(fmt.Sprintf("threads=%d/%s", threads, data), func(b *testing.B) {
				if data == "file" {
					data = filepath.Join(b.TempDir(), "data.db")
				}
				url, h := serveOpenHost(b, data)
				h.rest() // nobody takes the runs up
				runs := make([]string, threads)
				for i := range runs {
					runs[i] = enqueue(b, url, fmt.Sprintf("t%d", i))
				}
				defer followAll(b, url, runs, followers)()
				for b.Loop() {
					before := cpuTime(b)
					time.Sleep(window)
					b.ReportMetric(100*float64(cpuTime(b)-before)/float64(window), "%core")
				}
			})
		}
	}
}

// enqueue submits a run and returns its id.
func enqueue(tb testing.TB, url, thread string) string {
	tb.Helper()
	_, body := post(tb, url+"/v1/threads/"+thread+"/messages", `{"messages":[{"role":"user","content":"hello"}]}`)
	var receipt struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(body), &receipt); err != nil || receipt.RunID == "" {
		tb.Fatalf("submit: %v, %s", err, body)
	}
	return receipt.RunID
}

// followAll opens streams of the runs in turn, and returns, when all have begun,
// what closes them.
func followAll(tb testing.TB, url string, runs []string, n int) (end func()) {
	tb.Helper()
	transport := &http.Transport{}
	var begun, over sync.WaitGroup
	responses := make([]*http.Response, n)
	begun.Add(n)
	for i := range n {
		over.Go(func() {
			response, err := (&http.Client{Transport: transport}).Get(url + "/v1/runs/" + runs[i%len(runs)] + "/events/stream")
			if err != nil {
				tb.Error(err)
				begun.Done()
				return
			}
			responses[i] = response
			lines := bufio.NewScanner(response.Body)
			for first := true; lines.Scan(); first = first && !strings.HasPrefix(lines.Text(), "data: ") {
				if first && strings.HasPrefix(lines.Text(), "data: ") {
					begun.Done()
				}
			}
		})
	}
	begun.Wait()
	return func() {
		for _, response := range responses {
			if response != nil {
				_ = response.Body.Close() // its reader ends with an error
			}
		}
		over.Wait()
	}
}

// cpuTime is what this process has used of its processors.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
