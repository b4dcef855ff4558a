package sim

import (
	"context"
	"testing"
	"time"
)

// A client is refused for the 400 seconds of the faults or for a part of them, often more than
// 40 times. After the faults it has 41 tries, and has a response if one of them brings it.
func TestTriesOfAClientCountAfterTheFaults(t *testing.T) {
	tests := []struct {
		name     string
		asks     time.Duration
		answers  time.Duration // the first moment of a response; 0: it is always refused
		early    int           // the least tries until the faults are over
		late     int           // tries after that
		answered bool
	}{
		{"it is refused from the start and later", time.Second, 0, 41, 41, false},
		{"it is refused until the faults are over", time.Second, 400 * time.Second, 41, 1, true},
		{"it is refused from the last minute of the faults on", 340 * time.Second, 0, 6, 41, false},
		{"it is refused when the faults are over", 400 * time.Second, 0, 0, 41, false},
		{"it is refused after the faults", 401 * time.Second, 0, 0, 41, false},
		{"it has a response at once", time.Second, time.Second, 1, 0, true},
		{"it has a response at once after the faults", 401 * time.Second, 401 * time.Second, 0, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1})
			w.events = nil
			early, late, answered := 0, 0, false
			w.at(tt.asks, func() {
				w.people.insist(requestTimeout, func(context.Context, *host) bool {
					if w.now >= 400*time.Second {
						late++
					} else {
						early++
					}
					answered = tt.answers > 0 && w.now >= tt.answers
					return answered
				})
			})
			for len(w.events) > 0 {
				e := w.events.pop()
				w.now = e.at
				e.run()
			}
			if early < tt.early || late != tt.late || answered != tt.answered || w.people.again != early+late-1 {
				t.Errorf("%d tries during the faults, %d after them, %d again, answered %v; want %d or more, %d, %v",
					early, late, w.people.again, answered, tt.early, tt.late, tt.answered)
			}
		})
	}
}
