package local

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// BenchmarkHostRuns is the whole local host under clients that each stream one
// run of two steps after another (a tool call, then a text), every run on a
// thread of its own. CPU is the process's, so the clients' part is in it. Of memory,
// heap is what is in use at the end, and held what the process has of the system;
// in a store in memory both grow with the number of runs.
func BenchmarkHostRuns(b *testing.B) {
	for _, data := range []string{"memory", "bolt"} {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", data, clients), func(b *testing.B) { hostRuns(b, data, clients) })
		}
	}
}

func hostRuns(b *testing.B, data string, clients int) {
	if data == "bolt" {
		data = filepath.Join(b.TempDir(), "data.db")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	_ = collectRarely(os.Environ())
	url, h := serveOpenHost(b, data)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	streamRun(b, client, url, "first")
	threads := make(chan string)
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for thread := range threads {
				streamRun(b, client, url, thread)
			}
		})
	}
	for i := range b.N {
		threads <- fmt.Sprint("t", i)
	}
	close(threads)
	wait.Wait()
	runs := float64(b.N)
	b.ReportMetric(runs/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/runs, "cpu-µs/run")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapInuse)/(1<<20), "heap-MB")
	b.ReportMetric(float64(memory.Sys-memory.HeapReleased)/(1<<20), "held-MB")
	if h.file != nil {
		transactions, syncs := h.file.Stats()
		b.ReportMetric(float64(transactions)/runs, "transactions/run")
		b.ReportMetric(float64(syncs)/runs, "syncs/run")
	}
}

// streamRun streams one run of two steps from its submission to its end.
func streamRun(b *testing.B, client *http.Client, url, thread string) {
	streamText(b, client, url, thread, "echo: hello")
}

// streamText streams the run of a message.
func streamText(b *testing.B, client *http.Client, url, thread, text string) {
	body := strings.NewReader(`{"thread_id":"` + thread + `","messages":[{"role":"user","content":"` + text + `"}]}`)
	response, err := client.Post(url+"/v1/runs", "application/json", body)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	stream := streams.Get().(*bytes.Buffer)
	defer streams.Put(stream)
	stream.Reset()
	if _, err := stream.ReadFrom(response.Body); err != nil || !bytes.Contains(stream.Bytes(), []byte("natural_end")) {
		b.Errorf("the run did not finish: %v, %s", err, stream)
	}
}

// streams have what clients read, so that they allocate little.
var streams = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// cpuTime is what the process has used so far, in user and system mode.
