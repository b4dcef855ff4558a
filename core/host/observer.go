package host

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Observer counts the work of the steps of a process, for metrics: everything that its writes
// have made visible, once each, even if another process inferred or ran it. It is called in the
// step's goroutine, which waits for it, right after the write; a crash in between loses the
// call. It keeps no pointer that it receives, and does not panic.
type Observer interface {
	// Inferred is called with each turn of a model. took is the duration of its model calls;
	// retries is how many of them failed before the turn was complete.
	Inferred(agent string, turn *core.Message, took time.Duration, retries int)
	// InferenceFailed is called for each step that ended without a turn in a run that
	// continues; kind is that of the model's error.
	InferenceFailed(agent, kind string)
	// ToolCalled is called with each result of a tool call. took is how long its tool ran;
	// 0: none did.
	ToolCalled(agent string, result *core.ToolResult, took time.Duration)
	// Stepped is called when a step is over. took is how long this process worked on it: a
	// step that has waited counts from where it continued.
	Stepped(agent string, took time.Duration)
	// Ended is called when a run is done, and each time that it starts to wait.
	Ended(run core.Run)
}

// StepReport is what operators count of one step of a run in this process: how late it was,
// what failed, and how the run ended. It holds no message and no error's text.
type StepReport struct {
	Key core.ThreadKey
	// Run is the whole run if Ended is true: it is done, or has started to wait, by a write
	// of the step. Else it has the id, and the agent as far as it is known.
	Run   core.Run
	Ended bool
	// Late is how long the run was due before this process took it, without the time in
	// which another run of the thread was worked on; 0: it was not late, or this process had
	// taken it for a step before.
	Late time.Duration
	// Failures are the calls of models that have failed in the step, oldest first, also
	// those that were made again.
	Failures []ModelFailure
}

// ModelFailure is a call of a model that has failed.
type ModelFailure struct {
	Provider string
	Model    string // the provider's name of it
	Kind     string // a model.ErrorKind, such as rate_limited
}

// observed tells an Observer, and Options.Report, what the stepper does.
type observed struct {
	observer Observer         // nil: none
	report   func(StepReport) // nil: none
}

// observe returns the stepper's observer; nil: no observer.
func observe(o Observer, report func(StepReport)) run.Observer {
	if o == nil && report == nil {
		return nil
	}
	return observed{o, report}
}

// Reported implements run.Observer.
func (o observed) Reported(d run.StepReport) {
	if o.report == nil {
		return
	}
	told := StepReport{Key: d.Key, Run: d.Run, Ended: d.Ended, Late: d.Late}
	for _, f := range d.Failures {
		told.Failures = append(told.Failures, ModelFailure(f))
	}
	o.report(told)
}

// Stepped implements run.Observer.
func (o observed) Stepped(agent string, took time.Duration) {
	if o.observer != nil {
		o.observer.Stepped(agent, took)
	}
}

// Ended implements run.Observer.
func (o observed) Ended(r core.Run) {
	if o.observer != nil {
		o.observer.Ended(r)
	}
}

// Logged implements run.Observer.
func (o observed) Logged(agent string, entries []thread.Entry) {
	if o.observer == nil {
		return
	}
	for i := range entries {
		e := &entries[i]
		took := time.Duration(e.Duration) * time.Millisecond
		switch {
		case e.Failed != nil:
			o.observer.InferenceFailed(agent, e.Failed.Kind)
		case e.Message == nil:
		case e.Message.Role == core.RoleAssistant:
			o.observer.Inferred(agent, e.Message, took, int(e.Retried))
		case e.Message.ToolResult != nil:
			o.observer.ToolCalled(agent, e.Message.ToolResult, took)
		}
	}
}
