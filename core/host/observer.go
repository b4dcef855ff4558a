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

// observed tells an Observer what the stepper logs.
type observed struct{ Observer }

// observe returns the stepper's observer; nil: no observer.
func observe(o Observer) run.Observer {
	if o == nil {
		return nil
	}
	return observed{o}
}

// Logged implements run.Observer.
func (o observed) Logged(agent string, entries []thread.Entry) {
	for i := range entries {
		e := &entries[i]
		took := time.Duration(e.Duration) * time.Millisecond
		switch {
		case e.Failed != nil:
			o.InferenceFailed(agent, e.Failed.Kind)
		case e.Message == nil:
		case e.Message.Role == core.RoleAssistant:
			o.Inferred(agent, e.Message, took, int(e.Retried))
		case e.Message.ToolResult != nil:
			o.ToolCalled(agent, e.Message.ToolResult, took)
		}
	}
}
