package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What a run's log does not have of its steps: lost claims are in the head of an open run and
// in the record of one that is over, and a step that the end has cut short is in the record.

// aside reads that of a run.
func (r *reader) aside(ctx context.Context, key core.ThreadKey, head thread.Head, run core.Run) (*thread.Unfinished, []thread.Loss, error) {
	// While the run is open, its head has the claims that were lost. No end has cut a step short.
	if head.Run.ID == run.ID {
		return nil, head.Times().Losses, nil
	}
	// A run that no step has opened has neither.
	if run.Status != core.RunDone {
		return nil, nil, nil
	}
	stored, ok, err := r.store.Get(ctx, key, recordname.Run(run.ID))
	if err != nil || !ok { // it ended before a step opened it
		return nil, nil, err
	}
	record, err := r.records.DecodeRun(stored.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", run.ID, err)
	}
	return record.Unfinished, record.Losses, nil
}

// setLosses gives the steps of a page the claims that were lost in them.
func (p *StepPage) setLosses(losses []thread.Loss) {
	for i := range p.Steps {
		for _, l := range losses {
			if l.Step == p.Steps[i].Number {
				p.Steps[i].Losses = append(p.Steps[i].Losses, l)
			}
		}
	}
}

// failedStep is the step of a failed inference.
func failedStep(e *thread.Entry) Step {
	s := Step{
		Number: e.Step, Began: e.At, Ended: e.Failed.At, Failed: e.Failed, Duration: e.Duration, Retries: e.Failed.Calls,
		Queued: e.Queued, Attempts: e.Attempts,
	}
	// The provider may have counted tokens before the call failed.
	if e.Failed.Usage != (core.Usage{}) {
		s.Usage = &e.Failed.Usage
	}
	s.setFirst()
	return s
}

// setAttempts fills in the attempts at a turn. The record of a turn of one attempt has no more
// of it than its duration and the distance of its first piece.
func (s *Step) setAttempts(e *thread.Entry) {
	if s.Attempts = e.Attempts; len(s.Attempts) == 0 && !s.Cut {
		one := thread.Attempt{Began: max(s.Said-s.Duration, s.Began), Ended: s.Said, Model: s.Model}
		if e.First > 0 {
			one.First = min(one.Began+e.First, one.Ended)
		}
		s.Attempts = []thread.Attempt{one}
	}
	s.setFirst()
}

// setFirst fills in when the first piece of the step came: that of its last attempt.
func (s *Step) setFirst() {
	if n := len(s.Attempts); n > 0 {
		s.First = s.Attempts[n-1].First
	}
}

// addUnfinished adds the step that the run's end has cut short, or what the run's record has
// of it to its last words.
func (b *steps) addUnfinished(u *thread.Unfinished) {
	if u == nil {
		return
	}
	// The last words of a cancelled run are a turn in the log, which is a step of the page
	// already. Without words the log has nothing of the step.
	i := slices.IndexFunc(b.page.Steps, func(s Step) bool { return s.Number == u.Step })
	if i < 0 {
		if i = len(b.page.Steps); i == b.limit { // it is the next page
			b.page.Next = b.last + 1
			return
		}
		b.page.Steps = append(b.page.Steps, Step{Number: u.Step, Ended: max(u.Ended, u.At)})
	}
	// The record of the run has more of the step than its last words: they say neither what the
	// step waited for nor what it tried.
	s := &b.page.Steps[i]
	s.Cut, s.Began, s.Queued, s.Retries, s.Duration, s.Attempts = true, u.At, u.Queued, int(u.Retried), u.Duration, u.Attempts
	if n := len(u.Attempts); s.Model == "" && n > 0 {
		s.Model = u.Attempts[n-1].Model
	}
	if u.Usage != (core.Usage{}) {
		s.Usage = &u.Usage
	}
	s.setFirst()
}
