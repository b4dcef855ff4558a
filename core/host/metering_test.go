package host

import (
	"testing"
	"time"
)

// TestHandlersShareTheirTime: a second in which two work is half a second of each.
func TestHandlersShareTheirTime(t *testing.T) {
	now := time.Unix(0, 0)
	pass := func(d time.Duration) { now = now.Add(d) }
	h := &handlers{now: func() time.Time { return now }}
	first, leaveFirst := h.start()
	pass(time.Second)
	second, leaveSecond := h.start()
	pass(time.Second)
	if a, b := first(), second(); a != 1500 || b != 500 {
		t.Errorf("the first has %d ms and the second %d, want 1500 and 500", a, b)
	}
	leaveFirst()
	pass(time.Second)
	if b := second(); b != 1500 {
		t.Errorf("the second has %d ms, want 1500", b)
	}
	leaveSecond()
	pass(time.Hour) // nobody works
	third, leaveThird := h.start()
	pass(time.Millisecond)
	if c := third(); c != 1 {
		t.Errorf("the third has %d ms, want 1", c)
	}
	pass(time.Second)
	fourth, leaveFourth := h.start()
	pass(time.Second)
	leaveThird() // what it has worked until now is not the other's
	pass(time.Second)
	if c, d := third(), fourth(); c != 2501 || d != 1500 {
		t.Errorf("the third has %d ms and the fourth %d, want 2501 and 1500", c, d)
	}
	leaveFourth()
}
