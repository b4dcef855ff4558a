package core

import (
	"errors"
	"fmt"
)

// Code is the stable, machine-readable name of an error. The HTTP API returns
// it beside the text.
type Code string

// The codes. Each says when it is used.
const (
	CodeInvalid       Code = "invalid"            // the request is malformed; trying again unchanged cannot help
	CodeUnauthorized  Code = "unauthorized"       // no identity, or a wrong one
	CodeDenied        Code = "denied"             // the caller is known, and has no place in this deployment
	CodeForbidden     Code = "forbidden"          // the thread belongs to another user, or a foreign page sent the request
	CodeNotFound      Code = "not_found"          // no such thread, run, agent or route
	CodeMethod        Code = "method_not_allowed" // the route exists for other methods
	CodeConflict      Code = "conflict"           // the record exists with other content
	CodeBusy          Code = "busy"               // the thread has an open run and the request asked to be rejected then
	CodeFull          Code = "full"               // a bounded table of the thread is full (8 dispatches, 8 inbox entries)
	CodeDeleted       Code = "deleted"            // the thread was deleted; its id is not used again
	CodeTooLarge      Code = "too_large"          // a body, a record or a thread head is over its limit
	CodeUnsupported   Code = "unsupported"        // understood, but not offered here
	CodeNotAcceptable Code = "not_acceptable"     // the transport cannot respond in the asked form
	CodeTenantLimit   Code = "tenant_limit"       // the tenant has reached a limit of runs or tokens; it says when that ends
	CodeTenantSpend   Code = "tenant_spend_limit" // the tenant has spent what it may spend in a day
	CodeThrottled     Code = "throttled"          // the store or a provider refuses for now; try later
	CodeFenced        Code = "fenced"             // the claim was lost to a later one; the worker must stop
	CodeSuperseded    Code = "superseded"         // an interrupt ended the work that the claim was for
	CodeClosing       Code = "closing"            // the run was ended; only its closing records may be written
	CodeStale         Code = "stale"              // an inbox entry changed while the step that read it ran
	CodeDecided       Code = "decided"            // the ticket was already decided under another decision id
	CodeChild         Code = "child"              // the ticket waits for a child run, whose end alone decides it
	CodeSuspect       Code = "suspect"            // the run may take its process down; it must run alone
	CodeApplied       Code = "applied"            // the commit was applied before; its response was lost
	CodeSchema        Code = "schema"             // a newer version of the program wrote the record
	CodeCorrupt       Code = "corrupt"            // stored data contradicts itself
	CodeUnavailable   Code = "unavailable"        // a dependency did not respond
	CodeInternal      Code = "internal"           // anything else; the text says what
)

// Error is an error with a code. Two questions are asked of it, and never its
// text: errors.Is whether it is, or wraps, one sentinel (a package variable such
// as thread.ErrFenced; another error of the same code is not it), and [CodeOf]
// what kind of error it is, whoever made it.
type Error struct {
	Code    Code
	Message string
	cause   error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error that %w wrapped, if any; of several, one that wraps
// them all.
func (e *Error) Unwrap() error { return e.cause }

// Errorf returns an *Error; %w wraps as in fmt.Errorf. In a chain the code of
// the outermost *Error is the one that [CodeOf] returns.
func Errorf(code Code, format string, args ...any) error {
	wrapped := fmt.Errorf(format, args...)
	cause := errors.Unwrap(wrapped)
	if _, several := wrapped.(interface{ Unwrap() []error }); several {
		cause = wrapped
	}
	return &Error{Code: code, Message: wrapped.Error(), cause: cause}
}

// CodeOf returns the code of err: "" for nil, [CodeInternal] for an error
// without one.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
