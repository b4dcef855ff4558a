package run

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// A head that comes between the scheduler's look and its wait ends the wait at once, and one
// that the scheduler has seen does not.
func TestAHeadThatNobodyHasSeenEndsTheWait(t *testing.T) {
	ends := func(n *news) bool {
		_, _, changed := n.drain()
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	n := &news{}
	if ends(n) {
		t.Error("a wait for nothing ends")
	}
	n = &news{} // nobody waits yet
	n.offer(thread.Head{Version: 2})
	for range 2 {
		if !ends(n) {
			t.Error("the wait goes on behind a head that nobody has looked at")
		}
	}
	if head := n.newest(); head == nil || head.Version != 2 || ends(n) {
		t.Errorf("the newest head is %+v, and ends a wait although it was seen", head)
	}
	n.offer(thread.Head{Version: 2}) // as the one before
	n.offer(thread.Head{Version: 1})
	if ends(n) || n.newest().Version != 2 {
		t.Errorf("an older head ends the wait, or is the newest: %+v", n.newest())
	}
	_, _, changed := n.drain()
	n.offer(thread.Head{Version: 3})
	select {
	case <-changed:
	default:
		t.Error("a newer head does not end a wait that has begun")
	}
}
