package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Execute checks and runs a call. Whatever fails becomes an error result, whose
// Err says more for the log. The error is only for a call that has no result
// and must not get one here: one that the tool wrapped by [Fatal], or, when ctx
// ended before the tool started or made it give up, the context's cause: the
// worker stops, and the tool is not to blame.
func Execute(ctx context.Context, t Tool, c Call) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	}
	if err := check(t, c.Arguments); err != nil {
		return failed(c, "invalid arguments: ", err), nil
	}
	var result Result
	err := env.Protect(func() (err error) {
		result, err = t.Run(ctx, c)
		return err
	})
	var panicked *env.PanicError
	switch {
	case err == nil:
	case IsFatal(err):
		return Result{}, err
	case errors.As(err, &panicked):
		return failed(c, "execution failed: ", err), nil
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("running tool %q: %w", c.Name, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return failed(c, "execution timed out: ", err), nil
	default:
		return failed(c, "execution failed: ", err), nil
	}
	return finish(c, result), nil
}

// check bounds the arguments before a tool sees them.
func check(t Tool, arguments json.RawMessage) error {
	if len(arguments) > MaxArguments {
		return ErrArgumentsTooLarge
	}
	return env.Protect(func() error { return t.Check(arguments) })
}

// finish makes a tool's own answer fit to be stored.
func finish(c Call, r Result) Result {
	if len(r.Data)+len(r.Message) > MaxResult {
		return failed(c, "execution failed: ", ErrResultTooLarge)
	}
	if r.Data != nil && !(json.Valid(r.Data) && utf8.Valid(r.Data)) { // json.Valid lets every byte pass inside a string
		return failed(c, "execution failed: ", errors.New("the result's data is not JSON"))
	}
	if r.Data == nil && r.Message == "" {
		r.Data = json.RawMessage("null") // a model must read something
	}
	r.CallID, r.Name, r.Err = c.ID, c.Name, nil
	return r
}

func failed(c Call, what string, err error) Result {
	text := err.Error()
	var panicked *env.PanicError
	if errors.As(err, &panicked) {
		text = "the tool panicked" // what it said is for the log alone
	}
	return Result{
		ToolResult: core.ToolResult{CallID: c.ID, Name: c.Name, Message: what + shorten(text), IsError: true},
		Err:        err,
	}
}
