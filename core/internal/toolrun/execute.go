package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/tool"
)

// Execute checks and runs a call, and fills in the result's CallID, Name and Status: ok,
// error, or invalid for arguments that did not pass Check. Every failure becomes an error
// result, whose Err has details for the log, such as a panic's stack. A result that
// suspends the call has no status.
//
// The error is only for a call that has no result and must not get one here: one
// that the tool wrapped by tool.Fatal, or, when ctx ended before the tool started or
// made it give up, the context's cause: the worker stops, and the tool is not to
// blame. Execute does not apply the spec's Timeout and waits for as long as the
// tool takes; both are up to the caller.
func Execute(ctx context.Context, t tool.Tool, c tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	}
	if err := check(t, c.Arguments); err != nil {
		result := failed(c, "invalid arguments: ", err)
		result.Status = core.ResultInvalid
		return result, nil
	}
	var result tool.Result
	err := env.Protect(func() (err error) {
		result, err = t.Run(ctx, c)
		return err
	})
	switch {
	case err == nil:
	case toolcall.IsFatal(err):
		return tool.Result{}, err
	case toolcall.Panicked(err):
		return failed(c, "execution failed: ", err), nil
	case ctx.Err() != nil:
		return tool.Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return failed(c, "execution timed out: ", err), nil
	default:
		return failed(c, "execution failed: ", err), nil
	}
	return storable(c, result), nil
}

// check bounds the arguments before a tool sees them.
func check(t tool.Tool, arguments json.RawMessage) error {
	if len(arguments) > toolcall.MaxArguments {
		return toolcall.ErrArgumentsTooLarge
	}
	return env.Protect(func() error { return t.Check(arguments) })
}

// Prepare checks the arguments of a call and returns the tool as that one call, with the
// same arguments, is to run it: it does not check them again, and a tool of tool.New does
// not decode them again. Schema and arguments may be large, and a gate comes between the
// check and the run. The error is that of Check, or its panic.
func Prepare(t tool.Tool, arguments json.RawMessage) (ready tool.Tool, err error) {
	switch p := t.(type) {
	case admitted:
		ready, err := Prepare(p.Tool, arguments)
		return admitted{ready, p.spec}, err
	case interface {
		Prepare(arguments json.RawMessage) (tool.Tool, error)
	}:
		err = env.Protect(func() (err error) {
			ready, err = p.Prepare(arguments)
			return err
		})
		return ready, err
	}
	return checked{t}, check(t, arguments)
}

// checked is a tool whose arguments were found valid.
type checked struct{ tool.Tool }

// Check implements Tool.
func (checked) Check(json.RawMessage) error { return nil }

// storable makes what a tool returned fit to be stored.
func storable(c tool.Call, r tool.Result) tool.Result {
	if r.Suspend != nil {
		return suspended(c, r)
	}
	err := r.Err
	if err == nil {
		err = toolcall.CheckResult(r.ToolResult)
	}
	if err != nil {
		return failed(c, "execution failed: ", err)
	}
	if r.Data == nil && r.Message == "" && len(r.Content) == 0 {
		r.Data = json.RawMessage("null") // a model must read something
	}
	r.CallID, r.Name, r.Err = c.ID, c.Name, nil
	r.Status = core.ResultOK
	if r.IsError {
		r.Status = core.ResultError
	}
	return r
}

// suspended checks a result that makes the call wait.
func suspended(c tool.Call, r tool.Result) tool.Result {
	if r.Err != nil {
		return failed(c, "execution failed: ", r.Err)
	}
	if r.Data != nil || r.Message != "" || len(r.Content) > 0 || len(r.Metadata) > 0 || r.IsError || r.Status != "" || !r.Command.IsZero() {
		return failed(c, "execution failed: ", errors.New("a result that suspends the call has something else besides"))
	}
	if err := toolcall.CheckTicketRequest(*r.Suspend); err != nil {
		return failed(c, "execution failed: ", err)
	}
	return tool.Result{ToolResult: core.ToolResult{CallID: c.ID, Name: c.Name}, Suspend: r.Suspend}
}

func failed(c tool.Call, what string, err error) tool.Result {
	return tool.Result{
		ToolResult: core.ToolResult{CallID: c.ID, Name: c.Name, Message: what + toolcall.Complaint(err), IsError: true, Status: core.ResultError},
		Err:        err,
	}
}
