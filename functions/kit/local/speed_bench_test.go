package local

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// BenchmarkLongThread is a turn of one text in a thread of 1,000 messages that the process
// knows, streamed over HTTP.
func BenchmarkLongThread(b *testing.B) {
	for _, data := range []string{"memory", "bolt"} {
		b.Run(data, func(b *testing.B) {
			if data == "bolt" {
				data = filepath.Join(b.TempDir(), "data.db")
			}
			defer debug.SetGCPercent(debug.SetGCPercent(100))
			collectRarely(os.Environ())
			url, _ := serveOpenHost(b, data)
			client := &http.Client{}
			for range 500 {
				timeText(b, client, url, "long", "hello")
			}
			took := make([]time.Duration, b.N)
			b.ResetTimer()
			for i := range took {
				began := time.Now()
				timeText(b, client, url, "long", "hello")
				took[i] = time.Since(began)
			}
			reportTimes(b, took)
		})
	}
}

// BenchmarkFirstText is the time to the first text of 200 streams at a time in memory, over
// a model that begins after 100 ms. Each iteration is one round on threads of its own.
func BenchmarkFirstText(b *testing.B) {
	const streams = 200
	s, err := settings.Read(nil)
	if err != nil {
		b.Fatal(err)
	}
	s.Data = "memory"
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	collectRarely(os.Environ())
	url, _ := serveWhole(b, s, demonstration.With(func(parts agent.Parts) agent.Parts {
		for name, binding := range parts.Models {
			binding.Model = late{binding.Model, env.System()}
			parts.Models[name] = binding
		}
		return parts
	}))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	round := func(name string) []time.Duration {
		took := make([]time.Duration, streams)
		var wait sync.WaitGroup
		for i := range took {
			wait.Go(func() { took[i] = timeText(b, client, url, fmt.Sprint(name, "-", i), "hello") })
		}
		wait.Wait()
		return took
	}
	round("first") // opens the connections
	b.ResetTimer()
	var took []time.Duration
	for i := range b.N {
		took = append(took, round(fmt.Sprint(i))...)
	}
	reportTimes(b, took)
}

// late is a model that begins after 100 ms.
type late struct {
	model model.Model
	env   *env.Env
}

// Stream implements model.Model.
func (l late) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if err := l.env.Sleep(ctx, 100*time.Millisecond); err != nil {
			yield(model.Delta{}, err)
			return
		}
		l.model.Stream(ctx, request)(yield)
	}
}

// timeText streams one run of a text to its end and returns the time to its first text.
func timeText(b *testing.B, client *http.Client, url, thread, text string) (first time.Duration) {
	began := time.Now()
	response, err := client.Post(url+"/v1/runs", "application/json", strings.NewReader(`{"thread_id":"`+thread+`","messages":[{"role":"user","content":"`+text+`"}]}`))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	var all bytes.Buffer
	part := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = response.Body.Read(part)
		all.Write(part[:n])
		if first == 0 && bytes.Contains(all.Bytes(), []byte("text_delta")) {
			first = time.Since(began)
		}
	}
	if err != io.EOF || !bytes.Contains(all.Bytes(), []byte("natural_end")) {
		b.Errorf("the run did not finish: %v, %s", err, all.Bytes())
	}
	return first
}

// reportTimes reports the median and the 99th percentile.
func reportTimes(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
}
