package host

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Page is a part of a list. It may have fewer items than its query's Limit, even none, and
// not be the last.
type Page[T any] struct {
	Items []T
	// Next is the After of the query for the next page; empty: this is the last. Its content is
	// private to the host: protocols pass it on.
	Next string
}

// Places in lists are texts, so that a page's Next has no meaning for those who pass it on. The
// empty text is the beginning. The texts are not secret: a place that a client makes up shows
// it only what the list would show.

// badPlace is the error of a text that no page gave. Its word is that of the clients of
// protocols, who send places as cursors.
func badPlace(text string) error {
	return core.Errorf(core.CodeInvalid, "cursor %q is not one that this list gave", core.Excerpt(text))
}

// listedText is a place in a list of threads or runs: its time in unix milliseconds, the
// thread, and the name of the record, between "#", which none of them but a record's name
// may have. nil is the end of the list.
func listedText(p *store.Place) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(p.At, 10) + "#" + p.Thread + "#" + p.Name
}

// parseListed reads what listedText wrote; nil: from the newest.
func parseListed(text string) (*store.Place, error) {
	if text == "" {
		return nil, nil
	}
	at, rest, cut := strings.Cut(text, "#")
	thread, name, more := strings.Cut(rest, "#")
	millis, err := strconv.ParseInt(at, 10, 64)
	if !cut || !more || err != nil || millis < 0 || core.CheckName("thread", thread) != nil || !utf8.ValidString(name) {
		return nil, badPlace(text)
	}
	return &store.Place{At: millis, Thread: thread, Name: name}, nil
}

// waitingText is a place in the order of the threads that wait for a decision: those that
// have waited longest come first.
func waitingText(w *store.Waiting) string {
	if w == nil {
		return ""
	}
	return strconv.FormatInt(w.Since, 10) + ":" + w.Thread
}

// parseWaiting reads what waitingText wrote; nil: from the one that has waited longest.
func parseWaiting(text string) (*store.Waiting, error) {
	if text == "" {
		return nil, nil
	}
	digits, thread, found := strings.Cut(text, ":")
	since, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || core.CheckName("thread", thread) != nil {
		return nil, badPlace(text)
	}
	return &store.Waiting{Thread: thread, Since: since}, nil
}

// changed is a place between the changes of a thread's state.
type changed struct {
	seq uint64  // the log was read up to this sequence
	run core.ID // of the last change
}

// String is the place as a page's Next has it.
func (c changed) String() string { return strconv.FormatUint(c.seq, 10) + "#" + c.run.String() }

// parseChanged reads what String wrote. A sequence has at most 40 bits.
func parseChanged(text string) (changed, error) {
	seq, run, cut := strings.Cut(text, "#")
	n, err := strconv.ParseUint(seq, 10, 40)
	runID, bad := core.ParseID(run)
	if !cut || err != nil || bad != nil {
		return changed{}, badPlace(text)
	}
	return changed{n, runID}, nil
}
