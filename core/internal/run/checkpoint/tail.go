package checkpoint

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
)

// FirstTail is how many entries of a log that is not cached are read first: as many as a
// window of the default size usually has.
const FirstTail = 32

// Then as many entries are read as seem to be missing, but not beyond a multiple of what
// was read, since old messages may be larger than new ones.
const (
	tailGrowth = 4
	leastTail  = 4
)

// tail is the end of a log, as far as it was read. It is read by one goroutine,
// towards older entries, until it has the window and what the stored state lacks:
// the two begin at different sequences, and the older one counts.
//
// Where the window begins says the record of the newest turn. Where that does not, it
// is the newest messages up to a size.
type tail struct {
	entries []thread.Entry // newest first
	next    uint64         // sequence of the next older one; 0: it is the oldest
	settled bool           // the newest turn is in it
	begins  uint64         // the window's start in that record; 0: it has none
	measure func(core.Message) (fits bool, room int)
	room    int    // about how many older messages are in the window
	inside  int    // so many entries are in the window
	floor   uint64 // a summary replaces everything up to it; 0: no summary
	passed  uint64 // messages from this sequence on that are still to come were superseded; 0: none
}

// newTail is the tail of a log that ends with a sequence, under a summary up to another.
func newTail(seq, floor uint64, old window.Newest) *tail {
	return &tail{next: seq, measure: old.Measure(), room: 1, floor: floor}
}

// missing is how many older entries to read next, so that the window and what
// follows sequence asOf become whole; 0 when they are.
func (t *tail) missing(asOf uint64) uint64 {
	// An eighth more than the estimate, since a range too many costs a round trip;
	// but growing only so fast, since one huge old message would be read in vain.
	var n uint64
	switch {
	case t.begins > 0:
		n = t.next - min(t.begins-1, t.next)
	case !t.settled:
		n = uint64(tailGrowth * len(t.entries))
	case t.room > 0:
		n = uint64(min(max(t.room+t.room/8, leastTail), tailGrowth*len(t.entries)))
	}
	if t.next > asOf {
		n = max(n, t.next-asOf)
	}
	return min(n, t.next)
}

// add takes the next older entry. Messages that a later record superseded do not
// count for the window; their entries are kept anyway, since the state's fold goes
// through them.
func (t *tail) add(entry *thread.Entry) {
	seq := t.next
	t.entries = append(t.entries, *entry)
	t.next--
	if t.begins > 0 {
		if seq >= t.begins {
			t.inside = len(t.entries)
		}
		return
	}
	if t.passed != 0 && seq >= t.passed {
		return
	}
	t.passed = 0
	if entry.Superseded != nil {
		t.passed = entry.Superseded.From
	}
	if m := entry.Message; m != nil && m.Role == core.RoleAssistant && !t.settled {
		t.settled = true
		if w := entry.Window; w != nil || t.floor > 0 {
			t.begins, t.inside = t.floor+1, len(t.entries)
			if w != nil {
				t.begins = max(t.begins, shownFrom(w))
			}
			return
		}
	}
	if t.room == 0 {
		return
	}
	fits := true
	if entry.Message != nil {
		fits, t.room = t.measure(*entry.Message)
	}
	if fits {
		t.inside = len(t.entries)
	}
}

// from returns the window and what follows sequence asOf, in order, and the
// sequence of the first. It takes the entries away.
func (t *tail) from(asOf uint64) (first uint64, entries []thread.Entry) {
	newest := t.next + uint64(len(t.entries))
	n := t.inside
	if newest > asOf {
		n = max(n, int(newest-asOf))
	}
	entries = t.entries[:n]
	slices.Reverse(entries)
	return newest + 1 - uint64(n), entries
}

// read reads n older entries and maybe some more, fewer when the log begins before that. The
// log has no gaps up to the head's sequence: one is damage, and no state or window may be
// made across it.
func (t *tail) read(ctx context.Context, log *threadlog.Backwards, n uint64) error {
	t.entries = slices.Grow(t.entries, int(min(n, t.next)))
	for e, err := range log.Older(ctx, n) {
		if err != nil {
			return err
		}
		t.add(&e.Entry)
		if e.Totals != nil { // they have those of all that is older
			log.Abridge()
		}
	}
	return nil
}
