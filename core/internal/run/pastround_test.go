package run

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// Of a head that is past the round nothing is to be said of its calls, however far these are.
func TestStatusesOfARoundThatIsOver(t *testing.T) {
	r := &round{base: &base{}, calls: calls{{stage: concluded, result: result{entry: &thread.Entry{}, where: safe}}}}
	if next, progress := r.statuses(nil); len(next) > 0 || progress {
		t.Errorf("statuses %v, progress %t, want none", next, progress)
	}
}
