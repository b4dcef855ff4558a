package mailbox_test

import (
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// An enqueue whose answer is lost may be run to its end before its sender looks
// again: neither its commit id nor its dispatch is in the head any more.
func TestAnEnqueueThatWasRunBeforeItsAnswerCameIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(thread.Head) { w.end(t, w.claim(t)) })
		receipt := w.submit(t, input("hello", mailbox.ModeQueue))
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if head.Busy() || head.Version != 3 {
			t.Errorf("the run was enqueued again: version %d, pending %v", head.Version, head.Pending)
		}
		if !receipt.Duplicate {
			t.Error("the receipt does not say that the dispatch had been accepted")
		}
	})
}
