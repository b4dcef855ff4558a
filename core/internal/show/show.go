// Package show passes on the reports of a running tool to the clients that follow the run
// at this moment, without the tool waiting for them. It bounds and throttles.
package show

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
)

// The bounds of the reports of one call. Reports after a bound is reached are dropped, of
// every kind: readers have the start of the tool's reports, without gaps.
const (
	maxReports  = 10_000  // reports of a call; those that the throttle holds back do not count
	maxReported = 1 << 20 // bytes of texts, contents and patches of a call
)

// Report is one item of what a running tool shows.
type Report struct {
	Type core.EventType // tool_call_stream_delta, activity_snapshot or activity_delta
	Text string         // tool_call_stream_delta: the piece

	Kind    string          // of the activity
	Content json.RawMessage // activity_snapshot: the whole of it
	Patch   json.RawMessage // activity_delta: a JSON Patch, RFC 6902
}

func (r Report) size() int { return len(r.Text) + len(r.Kind) + len(r.Content) + len(r.Patch) }

// Audience receives the reports of a tool. It is safe for concurrent use.
type Audience interface {
	// Show takes a report. It returns immediately, however slow the readers are: the tool
	// does not wait for them. It returns false when no more reports of this call are taken.
	Show(Report) (more bool)
}

// Live passes on what one call shows, in the order in which the tool shows it. Progress is throttled and everything is bounded here, so that
// an [Audience] need not do it. A Live is safe for concurrent use; its zero value, and
// a nil one, show nothing.
type Live struct {
	audience Audience
	now      func() time.Time

	mu       sync.Mutex      // guards what follows, and holds while the audience takes a report, which keeps the order
	over     bool            // nothing is passed on any more
	reports  int             // passed on
	bytes    int             // of them
	dropped  int             // reports that were not passed on, other than those without a listener
	failure  error           // why the first of them was not
	shown    map[string]bool // kinds of activities that have a snapshot
	progress shownProgress
}

// Begin sets up a call's Live before its tool starts. now is the clock by which
// progress is throttled.
func (l *Live) Begin(audience Audience, now func() time.Time) { l.audience, l.now = audience, now }

// Dropped is how many reports were not passed on because they could not be, or were too
// much, and why the first of them was not. Reports without a listener are not counted.
func (l *Live) Dropped() (reports int, first error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped, l.failure
}

// Listens reports whether it is worth making a report.
func (l *Live) Listens() bool {
	if l == nil || l.audience == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// Output passes on a piece of what the tool puts out.
func (l *Live) Output(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass(Report{Type: core.EventToolCallStreamDelta, Text: text})
}

// pass passes a report on, within the bounds. The caller holds mu.
func (l *Live) pass(r Report) {
	switch {
	case l.over:
	case l.reports == maxReports || l.bytes+r.size() > maxReported:
		l.over = true
		l.drop(core.Errorf(core.CodeTooLarge, "the call has shown more than %d reports or %d bytes", maxReports, maxReported))
	default:
		l.reports++
		l.bytes += r.size()
		l.over = !l.audience.Show(r)
	}
}

// Refuse notes a report that cannot be passed on.
func (l *Live) Refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(err)
}

// drop notes that a report was not passed on; the caller holds mu.
func (l *Live) drop(err error) {
	if l.dropped++; l.failure == nil {
		l.failure = err
	}
}

// Recorder is an [Audience] that keeps the reports that it receives, for tests. The zero
// value is ready; it serves one call or several, and is safe for concurrent use.
type Recorder struct {
	// Now is the clock by which progress is throttled; nil: one that does not move.
	Now func() time.Time

	mu      sync.Mutex
	reports []Report
}

// Live returns what a call's Live is set to for its tool to show to the recorder.
func (r *Recorder) Live() *Live {
	l, now := &Live{}, r.Now
	if now == nil {
		now = func() time.Time { return time.Time{} }
	}
	l.Begin(r, now)
	return l
}

// Show implements [Audience].
func (r *Recorder) Show(report Report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, report)
	return true
}

// Reports returns the reports so far.
func (r *Recorder) Reports() []Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reports[:len(r.reports):len(r.reports)]
}
