package mailbox_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A thread without a log has no decisions, however many requests its head remembers.
func TestNothingIsDecidedOnAThreadWithoutALog(t *testing.T) {
	w := newWorld(t)
	r := w.submit(t, input("one", ""))
	const want = `tool call or suspension "c0" that waits: not found`
	decided := func(when string, run core.ID) {
		t.Helper()
		d := deciding("c0", "d")
		d.Run = run
		if got, err := w.Decide(t.Context(), key, d); got != (mailbox.Decided{}) || core.CodeOf(err) != core.CodeNotFound || err.Error() != want {
			t.Errorf("%s: %+v, %v; want %s", when, got, err, want)
		}
	}
	decided("queued", core.ID{})
	w.claim(t)
	decided("open", core.ID{})
	decided("open, and named", r.RunID)
	decided("another run", core.ID{9})
}
