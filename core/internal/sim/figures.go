package sim

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// checkFigures: the record of a run that is over has the sums of its log, and of the step that
// its end has cut short; and within a step no time runs backwards.
func (ru *runs) checkFigures(record *thread.RunRecord) {
	var used core.Usage
	steps, calls := 0, 0
	for i := range ru.th.logged.entries {
		e := &ru.th.logged.entries[i]
		if e.Run != record.ID {
			continue
		}
		switch m := e.Message; {
		case e.Failed != nil:
			steps, used = steps+1, used.Add(e.Failed.Usage)
			ru.checkAttempts(record.ID, e.Step, e.At, e.Attempts, e.Failed.At)
		case m == nil || m.Role != core.RoleAssistant:
		case e.Totals == nil: // last words
			if e.At > m.CreatedAt {
				ru.th.fail("step %d of run %s began at %d, its last words came at %d", e.Step, record.ID, e.At, m.CreatedAt)
			}
		default:
			steps, calls = steps+1, calls+len(m.ToolCalls)
			if m.Usage != nil {
				used = used.Add(*m.Usage)
			}
			ru.checkAttempts(record.ID, e.Step, e.At, e.Attempts, m.CreatedAt)
			if took := m.CreatedAt - e.At; e.First < 0 || e.First > max(took, 1) || e.Queued < 0 {
				ru.th.fail("step %d of run %s took %d ms, its first token came after %d, it was due for %d", e.Step, record.ID, took, e.First, e.Queued)
			}
		}
	}
	if u := record.Unfinished; u != nil {
		used = used.Add(u.Usage)
		ru.th.w.did(CutStep)
		ru.checkAttempts(record.ID, u.Step, u.At, u.Attempts, u.Ended)
		if u.Step != steps+1 {
			ru.th.fail("run %s has %d steps and was cut short in step %d", record.ID, steps, u.Step)
		}
	}
	if record.Steps != steps || record.Calls != calls || !record.Usage.Equal(used) {
		ru.th.fail("run %s has %d steps with %d calls and used %+v, its log %d with %d and %+v", record.ID, record.Steps, record.Calls, record.Usage, steps, calls, used)
	}
	if record.WaitedMS < 0 || record.Takeovers < len(record.Losses) {
		ru.th.fail("run %s waited %d ms and was lost %d times, %+v", record.ID, record.WaitedMS, record.Takeovers, record.Losses)
	}
	for _, l := range record.Losses {
		ru.th.w.did(KnownLoss)
		if l.Claimed > l.Lost || l.Began < l.Lost || l.Step < 1 || l.Step > steps+1 {
			ru.th.fail("run %s of %d steps has lost %+v", record.ID, steps, l)
		}
	}
}

// checkAttempts: attempts follow one another, between the start of their step and its last
// word. All are of one process, and so of one clock.
func (ru *runs) checkAttempts(run core.ID, step int, began int64, all []thread.Attempt, ended int64) {
	why := ""
	if len(all) > thread.MaxKeptAttempts {
		why = "there are too many"
	}
	at := began
	for i, a := range all {
		first := a.First == 0 || a.Began <= a.First && a.First <= a.Ended
		if a.Began < at || a.Ended < a.Began || !first || a.Reason == "" && i < len(all)-1 || a.Wait < 0 {
			why = fmt.Sprintf("attempt %d", i)
		}
		at = a.Ended
	}
	if why != "" || at > ended {
		ru.th.fail("step %d of run %s lasts from %d to %d, and has the attempts %+v: %s", step, run, began, ended, all, why)
	}
}
