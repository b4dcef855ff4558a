package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// unfinished returns the step that the run's end cuts short, for the run's record; nil: none.
// The process that has called the model knows it, and a claim that closes a run for an end
// that its own step came to has it from the record. Otherwise it is lost, with the process
// that called.
func (m *machine) unfinished(t *core.Termination) *thread.Unfinished {
	if u, fixed := m.holder.s.choices.Unfinished(m.holder.id); fixed {
		return u
	}
	head := &m.holder.head
	if m.unsaid == nil {
		r := m.base.record
		if head.Run.Reason == thread.ReasonOwn && r.Ending != nil && r.Ending.Version == head.Closing {
			return r.Unfinished
		}
		return nil
	}
	number := int(head.Run.Step) + 1
	if head.Run.Cursor == thread.CursorTools || number != m.unsaid.Step() { // its commit was applied, and only the response lost
		return nil
	}
	why := string(t.Type) // cancelled, superseded
	if t.Code != "" {
		why = t.Code
	}
	u := &thread.Unfinished{
		Step: number, At: m.holder.stepBegan, Ended: m.holder.stepBegan, Queued: m.holder.dueFor, Retried: m.unsaid.Failures(),
		Duration: m.unsaid.Spent().Time().Milliseconds(), Attempts: m.unsaid.Attempts(why),
	}
	if used := m.unsaid.Spent().Usage(); used != nil {
		u.Usage = *used
	}
	if n := len(u.Attempts); n > 0 {
		u.Ended = u.Attempts[n-1].Ended
	}
	return u
}
