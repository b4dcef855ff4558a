package tool

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Result is what a tool returns: what the model reads, and what is to change
// and to happen. [Execute] fills CallID, Name and Status.
type Result struct {
	core.ToolResult
	Command state.Command `json:"command,omitzero"`

	// Suspend makes the call wait for a decision instead; everything else of the
	// result must be empty. It is not stored with a result.
	Suspend *core.TicketRequest `json:"-"`

	// Err is why [Execute] made an error result, for the log. It is not stored.
	Err error `json:"-"`
}

// JSON returns a result whose data is v; the error is v's that JSON cannot express.
func JSON(v any) (Result, error) {
	data, err := core.EncodeJSON(v)
	if err != nil {
		return Result{}, fmt.Errorf("encoding the result: %w", err)
	}
	return Result{ToolResult: core.ToolResult{Data: data}}, nil
}

// Text returns a result whose data is the text as a JSON string.
func Text(text string) Result {
	data, _ := core.EncodeJSON(text) // a string always encodes
	return Result{ToolResult: core.ToolResult{Data: data}}
}

// Failed returns an error result: the model reads the message and may try again.
func Failed(message string) Result {
	return Result{ToolResult: core.ToolResult{Message: message, IsError: true}}
}

type fatalError struct{ err error }

func (f *fatalError) Error() string { return f.err.Error() }
func (f *fatalError) Unwrap() error { return f.err }

// Fatal marks an error of a tool as the end of the run, for what nothing
// that the model says can mend (a revoked credential, say). Fatal(nil) is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

// IsFatal reports whether err, or an error that it wraps, was marked by [Fatal].
func IsFatal(err error) bool {
	_, fatal := errors.AsType[*fatalError](err)
	return fatal
}
