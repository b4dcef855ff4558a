package run_test

import (
	"strconv"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// BenchmarkTwoStep is a whole background run of two steps (a tool call, then a
// text) on the memory store, which encodes and decodes every record: submit,
// two claims, three commits. A new store now and then keeps what is measured free
// of the collector's work on all that is stored.
func BenchmarkTwoStep(b *testing.B) {
	w := newWorld(b, options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 999 {
			b.StopTimer()
			w = newWorld(b, options{})
			b.StartTimer()
		}
		key := core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(i)}
		w.submit(b, key, "echo: hello", mailbox.ModeQueue)
		head := w.take(b, key)
		for {
			result, err := w.stepper.Step(b.Context(), run.Work{Key: key, Head: head}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if result.Outcome == thread.Done {
				break
			}
			head = w.take(b, key)
		}
	}
}
