package bolt_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
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
		Head:    thread.Head{Version: step, Seq: step, DueAt: int64(step)},
	})
	if !out.Written || err != nil {
		b.Error(out, err)
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
