package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
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
// reads result, took and err when it has returned, or never.
type attempt struct {
	parts    *parts
	tool     tool.Tool
	call     tool.Call
	within   context.Context    // of the tool; nil: it was not started
	cancel   context.CancelFunc // of its own timeout; nil: it has none
	began    time.Time
	passed   func()        // what env.Env.Reach returned
	done     chan struct{} // nil: news tells that the tool has returned, see awaitTool
	returned bool          // guarded by news.mu
	result   tool.Result
	took     time.Duration // by the tool
	err      error
}

// startTool starts the tool of an attempt, in a goroutine. finishTool must follow.
func (h *holder) startTool(ctx context.Context, a *attempt) {
	a.passed = h.env.Reach(point.Tool)
	a.within, a.began, a.err = ctx, h.env.Now(), errExited
	if timeout := a.tool.Spec().Timeout; timeout > 0 {
		a.within, a.cancel = h.env.WithTimeout(ctx, timeout)
	}
	kept := a.parts
	if !kept.show.alone {
		a.done = make(chan struct{})
	}
	a.call.Parts = kept
	if h.s.children != nil {
		a.call.Children = kept
	}
	if h.s.others != nil {
		a.call.Others = others{kept}
	}
	if kept.show.call != nil {
		a.call.Live = &kept.show.out
	}
	h.env.Start(func() {
		defer h.shared.news.returned(a)
		defer func() {
			a.took = h.env.Now().Sub(a.began)
			// The second one to end the parts knows that the other was first:
			// either the tool was abandoned, or awaitLate came too late.
			if !a.parts.end() { // the tool was abandoned
				h.s.abandoned.Add(-1)
			}
		}()
		growStack(0)
		a.result, a.err = toolrun.Execute(a.within, a.tool, a.call)
	})
}

// finishTool waits for the tool of an attempt: until it returns, or, when its context
// ends, for abandonAfter more. A result that it returns by then counts, however late.
// ctx is the one that the attempt was started with.
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
func (h *holder) finishTool(ctx context.Context, a *attempt) (result tool.Result, took time.Duration, err error) {
	if a.cancel != nil {
		defer a.cancel()
	}
	defer h.noteDropped(ctx, a.parts)
	call := &a.call
	// Whether it returned or its time is over, and which of the two limits that was:
	// the tool's own ends the call, the step's leaves it to another delivery.
	waited := h.awaitTool(a.within, a)
	timedOut := ctx.Err() == nil
	if waited == nil || h.awaitLate(ctx, a) {
		result, err = a.outcome(timedOut)
		return result, a.took, err
	}
	took = h.env.Now().Sub(a.began)
	h.warn(ctx, "abandoned tool still running", "call", call.ID, "tool", call.Name, "after", abandonAfter)
	if timedOut {
		text := fmt.Sprintf("timed out after %s; whether it acted is not known", a.tool.Spec().Timeout)
		return failedCall(call, core.ResultUnknown, text, nil), took, nil
	}
	return tool.Result{}, took, fmt.Errorf("tool %s was abandoned: %w", call.Name, context.Cause(ctx))
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
		h.warn(ctx, "reports of a tool dropped", "call", kept.attempt.call.ID, "tool", kept.attempt.call.Name, "reports", reports, "error", first)
	}
}

// outcome is the result of a tool that has returned. timedOut means that a tool
// which gave up did so because its own timeout was over.
func (a *attempt) outcome(timedOut bool) (tool.Result, error) {
	failure := a.parts.failed()
	switch {
	case failure != nil && errors.Is(a.result.Err, failure):
		return tool.Result{}, failure // the store's failure and not the tool's: the call is tried again
	case a.err == nil, toolcall.IsFatal(a.err):
		return a.result, a.err
	case errors.Is(a.err, errExited):
		return failedCall(&a.call, core.ResultError, "execution failed: "+errExited.Error(), a.err), nil
	case timedOut:
		return failedCall(&a.call, core.ResultError, fmt.Sprintf("execution timed out after %s", a.tool.Spec().Timeout), a.err), nil
	}
	return tool.Result{}, a.err
}

// failedCall is the result of a call whose tool returned none; err is for the log.
func failedCall(call *tool.Call, status core.ResultStatus, message string, err error) tool.Result {
	result := tool.Failed(message)
	result.CallID, result.Name, result.Status, result.Err = call.ID, call.Name, status, err
	return result
}
