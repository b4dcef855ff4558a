package stack

import "testing"

// The compiler must not drop the frame, nor make it anew on the heap.
func TestGrowHasTheFrameOnItsStack(t *testing.T) {
	if got := grow(300); got != 88 { // 300 + 300, as a byte
		t.Errorf("the byte at 300 of a frame that is filled from 300 on is %d, want 88", got)
	}
	if n := testing.AllocsPerRun(10, func() { grow(300) }); n != 0 {
		t.Errorf("grow allocates %v objects, want 0: its frame is not on the stack", n)
	}
}
