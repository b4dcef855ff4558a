package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkHostSteps is the whole local host on bbolt: each iteration submits a
// run of two steps (a tool call, then a text) over HTTP and waits for its end;
// 64 at a time, each on a thread of its own.
func BenchmarkHostSteps(b *testing.B) {
	url := serveHost(b, filepath.Join(b.TempDir(), "data.db"))
	threads := make(chan string)
	go func() {
		for i := range b.N {
			threads <- fmt.Sprintf("t%d", i)
		}
		close(threads)
	}()
	b.ReportAllocs()
	b.ResetTimer()
	b.SetParallelism(32) // times GOMAXPROCS
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			_, body := post(b, url+"/v1/threads/"+<-threads+"/messages", `{"messages":[{"role":"user","content":"echo: hello"}]}`)
			var receipt struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal([]byte(body), &receipt); err != nil {
				b.Fatal(err)
			}
			if _, stream := get(b, url+"/v1/runs/"+receipt.RunID+"/events/stream"); !strings.Contains(stream, "natural_end") {
				b.Fatalf("the run did not finish: %s", stream)
			}
		}
	})
	b.ReportMetric(float64(2*b.N)/b.Elapsed().Seconds(), "steps/s")
}
