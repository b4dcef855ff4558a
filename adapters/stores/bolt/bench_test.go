package bolt_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// BenchmarkStep is what a text step writes: one log record of 2 KB and the head
// over it, serial within a thread, all threads at once.
func BenchmarkStep(b *testing.B) {
	for _, threads := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			s := open(b, newPath(b), bolt.Options{})
			b.ResetTimer()
			var wait sync.WaitGroup
			for i := range threads {
				wait.Go(func() {
					for step := i; step < b.N; step += threads {
						writeStep(b, s, core.ThreadKey{Tenant: "acme", Thread: fmt.Sprint("t", i)}, uint64(step/threads+1))
					}
				})
			}
			wait.Wait()
		})
	}
}

func writeStep(b *testing.B, s *bolt.Store, key core.ThreadKey, step uint64) {
	out, err := s.Commit(b.Context(), key, store.Commit{
		Records: []store.Record{{Name: store.LogName(step), Fence: 1, Payload: make([]byte, 2048)}},
		Head:    store.Head{Version: step, Seq: step, DueAt: int64(step)},
	})
	if !out.Written || err != nil {
		b.Error(out, err)
	}
}

// BenchmarkRuns is the runtime on a file, called in its process by clients that each
// stream one run of two steps after another (a tool call, then a text), every run on a
// thread of its own.
func BenchmarkRuns(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := open(b, newPath(b), bolt.Options{})
			program := echoProgram(b, s)
			runEcho(b, program, "first")
			before := counted(s)
			threads := make(chan string)
			b.ResetTimer()
			var wait sync.WaitGroup
			for range clients {
				wait.Go(func() {
					for thread := range threads {
						runEcho(b, program, thread)
					}
				})
			}
			for i := range b.N {
				threads <- fmt.Sprint("t", i)
			}
			close(threads)
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(counted(s)[1]-before[1])/float64(b.N), "syncs/run")
		})
	}
}

// echoProgram is a runtime with one agent and one tool, and nothing that wakes workers: a
// run is stepped by its caller.
func echoProgram(b *testing.B, s *bolt.Store) *host.Host {
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		return tool.NewResult(a), nil
	})
	e := env.System()
	program, err := host.New(host.Options{Env: e, Store: s, Waker: &mailboxtest.Queue{}, Logger: slog.New(slog.DiscardHandler), Agents: agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e), Name: "scripted"}},
		Tools:  []tool.Tool{echo},
		Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return program
}

func runEcho(b *testing.B, program *host.Host, thread string) {
	var last core.Event
	_, err := program.Stream(b.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: thread}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("echo: hello")},
	}, host.ListenerFunc(func(e core.Event) error { last = e; return nil }))
	if err != nil || last.Type != core.EventRunFinish {
		b.Errorf("the run did not finish: %v, %v", last.Type, err)
	}
}

// BenchmarkReadLog reads the last 20 of 10,000 records of 2 KB.
func BenchmarkReadLog(b *testing.B) {
	s := open(b, newPath(b), bolt.Options{})
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			for seq := i * 100; seq < (i+1)*100; seq++ {
				if err := s.Put(b.Context(), key, store.Record{Name: store.LogName(uint64(seq)), Fence: 1, Payload: make([]byte, 2048)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for b.Loop() {
		seen := 0
		for _, err := range s.Log(b.Context(), key, 9980, 9999) {
			if err != nil {
				b.Fatal(err)
			}
			seen++
		}
		if seen != 20 {
			b.Fatalf("read %d records, want 20", seen)
		}
	}
}
