package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// abandonAfter is how long a tool may go on when its context has ended. With the
// watch's look at the head every 2 s it lets a cancelled run end within 5 s.
const abandonAfter = 2 * time.Second

// errExited is the outcome of a tool that ended its goroutine instead of returning.
var errExited = errors.New("the tool ended its goroutine")

// attempt is one run of a tool. The waiting goroutine may have to abandon it, and
// reads result and err after done is closed, or never.
type attempt struct {
	parts    *parts
	done     chan struct{} // nil: news tells that the tool has returned, see awaitTool
	returned bool          // guarded by news.mu
	result   tool.Result
	err      error
}

// runTool runs the tool of call i and waits for it: until it returns, or, when its
// context ends, for abandonAfter more. A result that it returns by then counts,
// however late.
//
// A tool whose own timeout is over gets an error result, of status unknown if it
// was abandoned. If the step's context ended, and the tool gave up or was
// abandoned, the error wraps the context's cause: there is no result, and another
// delivery, or the close, decides about the call. Any other error is one that the
// tool made fatal, or the store's that could not read or keep a part.
//
// Here alone core does not always wait for what it started. An abandoned tool
// reaches nothing of the step: it has the call by value, a context that is over,
// and parts that refuse it.
func (h *holder) runTool(ctx context.Context, t tool.Tool, call tool.Call, kept *parts) (tool.Result, error) {
	timeout := t.Spec().Timeout
	within, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		within, cancel = h.env.WithTimeout(ctx, timeout)
	}
	defer cancel()
	defer h.noteDropped(ctx, kept)
	a := &kept.attempt
	a.parts, a.err = kept, errExited
	if !kept.show.alone {
		a.done = make(chan struct{})
	}
	call.Parts = kept
	if h.s.children != nil {
		call.Children = kept
	}
	if kept.show.on {
		call.Live = &kept.show.out
	}
	h.env.Start(func() {
		defer h.shared.news.returned(a)
		defer func() {
			// The second one to end the parts knows that the other was first:
			// either the tool was abandoned, or awaitLate came too late.
			if !a.parts.end() { // the tool was abandoned
				h.s.abandoned.Add(-1)
			}
		}()
		growStack(0)
		a.result, a.err = toolrun.Execute(within, t, call)
	})
	// Whether it returned or its time is over, and which of the two limits that was:
	// the tool's own ends the call, the step's leaves it to another delivery.
	waited := h.awaitTool(within, a)
	timedOut := ctx.Err() == nil
	if waited == nil || h.awaitLate(ctx, a) {
		return a.outcome(call, timedOut, timeout)
	}
	h.warn(ctx, "abandoned tool still running", "call", call.ID, "tool", call.Name, "after", abandonAfter)
	if timedOut {
		text := fmt.Sprintf("timed out after %s; whether it acted is not known", timeout)
		return failedCall(call, core.ResultUnknown, text, nil), nil
	}
	return tool.Result{}, fmt.Errorf("tool %s was abandoned: %w", call.Name, context.Cause(ctx))
}

// growStack immediately gives a new goroutine the stack that a tool usually needs.
// The goroutine would otherwise double its stack two or three times, and each time
// copy every frame that it has by then: a twentieth of the cost of a run of two
// steps.
//
//go:noinline
func growStack(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

// awaitTool waits until the tool has returned or ctx ends, whose cause it then
// returns. In a sequential round it runs in the step's own goroutine, and emits the
// tool's reports while it waits.
func (h *holder) awaitTool(ctx context.Context, a *attempt) error {
	if a.done != nil {
		return h.env.Wait(ctx, a.done)
	}
	for {
		show, changed := h.shared.news.heard(a)
		h.emitShown(show)
		if changed == nil {
			return nil
		}
		if ctx.Err() != nil { // a tool that never stops showing would outlast any wait
			return context.Cause(ctx)
		}
		_ = h.env.Wait(ctx, changed) // looked at again, together with the reports
	}
}

// awaitLate gives a tool whose context has ended its last time, and reports whether
// it has returned. If not, it is abandoned permanently.
func (h *holder) awaitLate(ctx context.Context, a *attempt) (returned bool) {
	free := context.WithoutCancel(ctx)
	late, cancel := h.env.WithTimeout(free, abandonAfter)
	defer cancel()
	if h.awaitTool(late, a) == nil {
		return true
	}
	h.s.abandoned.Add(1)
	if a.parts.end() {
		h.shared.news.mute(a.parts)
		return false
	}
	h.s.abandoned.Add(-1) // it returns at this very moment
	_ = h.awaitTool(free, a)
	return true
}

// noteDropped logs that reports of a tool dropped.
func (h *holder) noteDropped(ctx context.Context, kept *parts) {
	if reports, first := kept.show.out.Dropped(); reports > 0 {
		h.warn(ctx, "reports of a tool dropped", "call", kept.show.id, "tool", kept.show.name, "reports", reports, "error", first)
	}
}

// outcome is the result of a tool that has returned. timedOut means that a tool
// which gave up did so because its own timeout was over.
func (a *attempt) outcome(call tool.Call, timedOut bool, timeout time.Duration) (tool.Result, error) {
	failure := a.parts.failed()
	switch {
	case failure != nil && errors.Is(a.result.Err, failure):
		return tool.Result{}, failure // the store's failure and not the tool's: the call is tried again
	case a.err == nil, toolcall.IsFatal(a.err):
		return a.result, a.err
	case errors.Is(a.err, errExited):
		return failedCall(call, core.ResultError, "execution failed: "+errExited.Error(), a.err), nil
	case timedOut:
		return failedCall(call, core.ResultError, fmt.Sprintf("execution timed out after %s", timeout), a.err), nil
	}
	return tool.Result{}, a.err
}

// failedCall is the result of a call whose tool returned none; err is for the log.
func failedCall(call tool.Call, status core.ResultStatus, message string, err error) tool.Result {
	result := tool.Failed(message)
	result.CallID, result.Name, result.Status, result.Err = call.ID, call.Name, status, err
	return result
}
