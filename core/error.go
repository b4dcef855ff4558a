package core

import (
	"errors"
	"fmt"
)

// Code is the stable, machine-readable name of an error. The HTTP API returns it with the
// text.
type Code string

// The codes, with the situation that each is for.
const (
	CodeInvalid       Code = "invalid"            // The request is malformed. Do not retry it unchanged.
	CodeUnauthorized  Code = "unauthorized"       // The request has no identity, or a wrong one.
	CodeDenied        Code = "denied"             // The caller is known but not allowed in this deployment.
	CodeForbidden     Code = "forbidden"          // The thread belongs to another user, or the request comes from a foreign page or for a foreign host.
	CodeNotFound      Code = "not_found"          // The thread, run, agent or route does not exist.
	CodeMethod        Code = "method_not_allowed" // The route exists for other methods.
	CodeConflict      Code = "conflict"           // The record exists with other content.
	CodeBusy          Code = "busy"               // The thread has an open run, and the request asked to be rejected in this case.
	CodeFull          Code = "full"               // The thread has reached a limit, such as 8 queued dispatches or 8 inbox entries.
	CodeDeleted       Code = "deleted"            // The thread was deleted. Its id cannot be used again.
	CodeTooLarge      Code = "too_large"          // A body, a record or a thread head is larger than its limit.
	CodeUnsupported   Code = "unsupported"        // The request is valid, but this server does not support it.
	CodeNotAcceptable Code = "not_acceptable"     // The transport cannot respond in the requested form.
	CodeTenantLimit   Code = "tenant_limit"       // The tenant has reached a limit of runs or tokens. The response has the time when the limit ends, if it is known.
	CodeTenantSpend   Code = "tenant_spend_limit" // The tenant has reached its spend limit of the day.
	CodeThrottled     Code = "throttled"          // The store or a provider temporarily refuses requests. Retry later.
	CodeFenced        Code = "fenced"             // A later claim replaced the worker's claim. The worker must stop.
	CodeSuperseded    Code = "superseded"         // An interrupt ended the work.
	CodeClosing       Code = "closing"            // The run has ended. Only its closing records may be written.
	CodeStale         Code = "stale"              // An inbox entry changed while a step read it.
	CodeDecided       Code = "decided"            // The ticket was already decided under another decision id.
	CodeChild         Code = "child"              // The ticket waits for a child run, and only the end of that run decides it.
	CodeSuspect       Code = "suspect"            // The run may crash its process. It must run alone.
	CodeApplied       Code = "applied"            // The commit was already applied, but its response was lost.
	CodeSchema        Code = "schema"             // A newer version of the program wrote the record.
	CodeCorrupt       Code = "corrupt"            // Stored data contradicts itself. To clients: the thread is damaged, and only the operator can repair or delete it.
	CodeUnavailable   Code = "unavailable"        // A dependency did not respond. Retry later.
	CodeInternal      Code = "internal"           // Any other error. The log has its text.
)

// Error is an error with a code. Programs never compare its text. They call errors.Is for
// one sentinel (a package variable such as thread.ErrFenced; another error of the same code
// is not it), and [CodeOf] for the kind of an error of any package.
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
