package run

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// How long a run is left to another build, and when it is looked at next. Times are seconds
// since it was first looked at.
func TestHowLongARunIsLeft(t *testing.T) {
	const never = -1
	tests := []struct {
		name     string
		leaveFor time.Duration
		since    time.Duration // before; never: it was not left yet
		status   thread.Status
		leaves   bool
		next     time.Duration
	}{
		{"the first time", 10 * time.Minute, never, thread.Running, true, 5 * time.Second},
		{"at once again", 10 * time.Minute, 0, thread.Running, true, 5 * time.Second},
		{"after seven seconds", 10 * time.Minute, 7 * time.Second, thread.Running, true, 7 * time.Second},
		{"after a minute", 10 * time.Minute, time.Minute, thread.Running, true, 30 * time.Second},
		{"shortly before the end", 10 * time.Minute, 9*time.Minute + 50*time.Second, thread.Running, true, 10 * time.Second},
		{"a millisecond before the end", 10 * time.Minute, 10*time.Minute - time.Millisecond, thread.Running, true, time.Millisecond},
		{"at the end", 10 * time.Minute, 10 * time.Minute, thread.Running, false, 0},
		{"later", 10 * time.Minute, time.Hour, thread.Running, false, 0},
		{"for less than a pause", time.Second, never, thread.Running, true, time.Second},
		{"for next to nothing", 1, never, thread.Running, true, 0},
		{"not at all", -1, never, thread.Running, false, 0},
		{"a run that closes", 10 * time.Minute, never, thread.Closing, false, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				h := &holder{env: env.System(), s: &Stepper{leaveFor: tt.leaveFor}, stepBegan: now.UnixMilli()}
				h.head.Run = thread.Run{ID: core.ID{1}, Status: tt.status}
				if tt.since != never {
					h.head.Run.LacksSince = now.Add(-tt.since).UnixMilli()
				}
				if got := h.leaves(); got != tt.leaves {
					t.Errorf("it is left: %v, want %v", got, tt.leaves)
				}
				if next := time.UnixMilli(h.leftUntil()).Sub(now); next != tt.next {
					t.Errorf("it is looked at in %s, want %s", next, tt.next)
				}
			})
		})
	}
}
