package sim

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// shows returns what a tool calls now and then while it runs: each time it puts out
// the execution's number and how often it has shown something before, so that readers
// know whether something is missing.
func (ca *calls) shows(call tool.Call, key string) (show func()) {
	n, execution := 0, ca.starts[key]
	return func() {
		call.Output(fmt.Sprintf("%d %d", execution, n))
		call.Progress(float64(n), 10, key)
		n++
	}
}

// late is the output of an abandoned tool. No reader may receive it.
const late = "late"

// listening is what the reader of a stream knows of the calls that it hears of, by the
// message of their result.
type listening struct {
	th    *threadState
	calls map[string]listened
}

type listened struct {
	execution, next int
	done            bool
}

// hear checks an event of a call that runs or has ended: an execution is heard from its
// start and without gaps, and nothing after the result.
func (l listening) hear(e core.Event) {
	switch e.Type {
	case core.EventStepRestarted:
		clear(l.calls)
		return
	case core.EventToolCallDone:
		l.calls[e.MessageID] = listened{done: true}
		return
	case core.EventToolCallStreamDelta:
	default:
		return
	}
	l.th.w.Stats.Streams.Reports++
	call := l.calls[e.MessageID]
	var execution, n int
	if _, err := fmt.Sscanf(e.Delta, "%d %d", &execution, &n); err != nil {
		l.th.fail("a client receives output that the tool must not have: %q of %s", e.Delta, e.MessageID)
		return
	}
	if execution != call.execution {
		call = listened{execution: execution, done: call.done}
	}
	if n != call.next || call.done || e.Position != "" {
		l.th.fail("a client receives output %q of %s at %q, want number %d, before its result %t", e.Delta, e.MessageID, e.Position, call.next, call.done)
	}
	call.next = n + 1
	l.calls[e.MessageID] = call
}
