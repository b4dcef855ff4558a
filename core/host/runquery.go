package host

import (
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// A query of runs is answered in three stages, each of which excludes what it can without the
// reads of the next:
//
//  1. The listing of a run, which the list itself returns, has its agent, origin, parent thread
//     and time, and the start of its input.
//  2. The head of its thread decides whether the caller may read it. The title of the thread is
//     read at the same time.
//  3. The record of the run has everything else: status, end, cost and duration.
//
// A listing of an older program lacks fields. Then the next stage decides.

// limit returns the page's limit, with its default.
func (q RunQuery) limit() int {
	if q.Limit == 0 {
		return defaultPage
	}
	return q.Limit
}

// check refuses a limit, status or termination that does not exist.
func (q RunQuery) check() error {
	if _, err := (MessageQuery{Limit: q.Limit}).complete(); err != nil {
		return err
	}
	switch q.Status {
	case "", core.RunCreated, core.RunRunning, core.RunWaiting, core.RunDone:
	default:
		return core.Errorf(core.CodeInvalid, "status %q is unknown, allowed are created, running, waiting, done", core.Excerpt(string(q.Status)))
	}
	switch q.Termination {
	case "", core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped, core.TerminationCancelled,
		core.TerminationBlocked, core.TerminationSuperseded, core.TerminationError:
	default:
		return core.Errorf(core.CodeInvalid, "termination %q is unknown, allowed are natural_end, behavior_requested, stopped, cancelled, blocked, superseded, error",
			core.Excerpt(string(q.Termination)))
	}
	return q.checkMore()
}

// checkMore refuses a text that is too long, and bounds below zero.
func (q RunQuery) checkMore() error {
	for _, bound := range []struct {
		name  string
		value int64
	}{{"since", q.Since}, {"until", q.Until}, {"min_ms", q.MinMillis}, {"min_cost", int64(q.MinCost)}} {
		if bound.value < 0 {
			return core.Errorf(core.CodeInvalid, "%s is negative, allowed is 0 or more", bound.name)
		}
	}
	if q.Origin != nil {
		if err := q.Origin.Check(); err != nil {
			return err
		}
	}
	return checkText(q.Text)
}

// checkText refuses a text to search for that is too long, or not UTF-8.
func checkText(text string) error {
	if len(text) > maxSearch || !utf8.ValidString(text) {
		return core.Errorf(core.CodeInvalid, "text to search for has %d bytes, at most %d of UTF-8 are allowed", len(text), maxSearch)
	}
	return nil
}

// is reports whether a run matches the query, but for its text. now is the time of the
// query, in unix milliseconds. A filter by cost or duration excludes runs whose cost or
// duration is unknown: the page would show no figure that explains why they are there.
func (q RunQuery) is(run core.Run, now int64) bool {
	// Each case is one filter, or several that need no more than a comparison. The filters
	// that the listing has decided are checked again: its fields may be absent.
	switch {
	case q.Status != "" && run.Status != q.Status, q.Agent != "" && run.AgentID != q.Agent, q.Origin != nil && run.Origin != *q.Origin:
		return false
	case run.CreatedAt < q.Since, q.Until > 0 && run.CreatedAt >= q.Until:
		return false
	case !q.Parent.IsZero() && (run.StartedBy == nil || run.StartedBy.RunID != q.Parent):
		return false
	case q.MinMillis > 0 && took(run, now) < q.MinMillis:
		return false
	// A run whose price is unknown is not known to cost so much.
	case q.MinCost > 0 && (run.Cost == nil || !run.Cost.Known || run.Cost.USD < q.MinCost):
		return false
	// Only runs that are over have a termination.
	case q.Termination == "":
		return true
	}
	return run.Termination != nil && run.Termination.Type == q.Termination
}

// took is how long a run has taken, from its start to its end, or to now while it is open,
// in milliseconds; 0: it has not started, or ended at a time that is not known. The time
// that it waited for people counts: a run that was approved after a day took a day.
func took(run core.Run, now int64) int64 {
	// A queued run has taken no time yet, however long it waits for its turn. A run that waits
	// for a decision goes on taking time.
	switch {
	case run.StartedAt == 0, run.Status == core.RunDone && run.FinishedAt == 0:
		return 0
	case run.Status == core.RunDone:
		return run.FinishedAt - run.StartedAt
	}
	return now - run.StartedAt
}
