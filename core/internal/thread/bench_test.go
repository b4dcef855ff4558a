package thread_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// queued is a head as a busy deployment has them: a run behind it, two queued.
func queued(b *testing.B) thread.Head {
	b.Helper()
	h := thread.Head{}
	for i, c := range []thread.Change{
		thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{1}, Owner: "user-1", Dedupe: 1},
		thread.TakeClaim{Worker: "step-1", Lease: 30_000},
		thread.CommitStep{Fence: 1, Outcome: thread.Done, Seq: 2},
		thread.Enqueue{Dispatch: core.ID{2}, Run: core.ID{2}, Owner: "user-1", Dedupe: 2},
		thread.Enqueue{Dispatch: core.ID{3}, Run: core.ID{3}, Owner: "user-1", Dedupe: 3},
	} {
		next, _, err := thread.Apply(h, thread.Transition{Now: start, CommitID: core.ID{byte(i)}, Change: c})
		if err != nil {
			b.Fatal(err)
		}
		h = next
	}
	return h
}

func BenchmarkApplyClaim(b *testing.B) {
	h := queued(b)
	t := thread.Transition{Now: start, CommitID: core.ID{9}, Change: thread.TakeClaim{Worker: "step-1", Lease: 30_000}}
	b.ReportAllocs()
	for b.Loop() {
		if _, result, err := thread.Apply(h, t); err != nil || !result.Claimed {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	h := queued(b)
	buffer := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buffer = h.AppendBinary(buffer[:0])
	}
}

func BenchmarkDecode(b *testing.B) {
	h := queued(b)
	encoded := h.AppendBinary(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(encoded)))
	for b.Loop() {
		if _, err := thread.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
