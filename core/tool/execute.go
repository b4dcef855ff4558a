package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// maxComplaint bounds, in bytes, an error that may quote the arguments; what it names
// stands first.
const maxComplaint = 500

// Execute checks and runs a call, and fills in the result's CallID, Name and
// Status: ok, error, or invalid for arguments that did not pass Check. Whatever
// fails becomes an error result, whose Err says more for the log, a panic's stack
// for one. A result that suspends the call has no status.
//
// The error is only for a call that has no result and must not get one here: one
// that the tool wrapped by [Fatal], or, when ctx ended before the tool started or
// made it give up, the context's cause: the worker stops, and the tool is not to
// blame. Execute does not apply the spec's Timeout and waits for as long as the
// tool takes; both are up to the caller.
func Execute(ctx context.Context, t Tool, c Call) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	}
	if err := check(t, c.Arguments); err != nil {
		result := failed(c, "invalid arguments: ", err)
		result.Status = core.ResultInvalid
		return result, nil
	}
	var result Result
	err := env.Protect(func() (err error) {
		result, err = t.Run(ctx, c)
		return err
	})
	switch {
	case err == nil:
	case IsFatal(err):
		return Result{}, err
	case panicked(err):
		return failed(c, "execution failed: ", err), nil
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return failed(c, "execution timed out: ", err), nil
	default:
		return failed(c, "execution failed: ", err), nil
	}
	return storable(c, result), nil
}

// check bounds the arguments before a tool sees them.
func check(t Tool, arguments json.RawMessage) error {
	if len(arguments) > MaxArguments {
		return ErrArgumentsTooLarge
	}
	return env.Protect(func() error { return t.Check(arguments) })
}

// Prepare checks the arguments of a call and returns the tool as that one call, with
// the same arguments, is to run it: it does not check them again, and a tool of [New]
// does not decode them again. Schema and arguments may be large, and between
// the check and the run stands a gate. The error is that of Check, or its panic.
func Prepare(t Tool, arguments json.RawMessage) (ready Tool, err error) {
	if p, ok := t.(interface {
		prepare(arguments json.RawMessage) (Tool, error)
	}); ok {
		err = env.Protect(func() (err error) {
			ready, err = p.prepare(arguments)
			return err
		})
		return ready, err
	}
	return checked{t}, check(t, arguments)
}

// checked is a tool whose arguments were found valid.
type checked struct{ Tool }

// Check implements Tool.
func (checked) Check(json.RawMessage) error { return nil }

// storable makes what a tool returned fit to be stored.
func storable(c Call, r Result) Result {
	if r.Suspend != nil {
		return suspended(c, r)
	}
	err := r.Err
	if err == nil {
		err = CheckResult(r.ToolResult)
	}
	if err != nil {
		return failed(c, "execution failed: ", err)
	}
	if r.Data == nil && r.Message == "" {
		r.Data = json.RawMessage("null") // a model must read something
	}
	r.CallID, r.Name, r.Err = c.ID, c.Name, nil
	r.Status = core.ResultOK
	if r.IsError {
		r.Status = core.ResultError
	}
	return r
}

// CheckResult says why a result cannot be stored: [ErrResultTooLarge], or data or
// metadata that are not JSON. Execute asks it about what a tool returns, and a run
// about what a gate gives a call.
func CheckResult(r core.ToolResult) error {
	size := len(r.Data) + len(r.Message)
	for name, value := range r.Metadata {
		size += len(name) + len(value)
	}
	if size > MaxResult { // before the rest, which takes time for each byte
		return ErrResultTooLarge
	}
	if r.Data != nil && !validJSON(r.Data) {
		return errors.New("the result's data is not JSON")
	}
	if len(r.Metadata) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) { // sorted: each run of it says the same
		if name == "" || !utf8.ValidString(name) || !validJSON(r.Metadata[name]) {
			return fmt.Errorf("the result's metadata %q is not JSON under a name", core.Excerpt(name))
		}
	}
	return nil
}

// suspended checks a result that makes the call wait.
func suspended(c Call, r Result) Result {
	if r.Err != nil {
		return failed(c, "execution failed: ", r.Err)
	}
	if r.Data != nil || r.Message != "" || len(r.Metadata) > 0 || r.IsError || r.Status != "" || !r.Command.IsZero() {
		return failed(c, "execution failed: ", errors.New("a result that suspends the call has something else besides"))
	}
	if err := CheckTicketRequest(*r.Suspend); err != nil {
		return failed(c, "execution failed: ", err)
	}
	return Result{ToolResult: core.ToolResult{CallID: c.ID, Name: c.Name}, Suspend: r.Suspend}
}

// validJSON reports whether b can be stored: json.Valid lets every byte pass
// inside a string.
func validJSON(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }

func failed(c Call, what string, err error) Result {
	return Result{
		ToolResult: core.ToolResult{CallID: c.ID, Name: c.Name, Message: what + complaint(err), IsError: true, Status: core.ResultError},
		Err:        err,
	}
}

// complaint is what the model reads of an error.
func complaint(err error) string {
	if panicked(err) {
		return "the tool panicked" // what it said is for the log alone
	}
	return wire.Shorten(err.Error(), maxComplaint)
}

func panicked(err error) bool {
	_, ok := errors.AsType[*env.PanicError](err)
	return ok
}
