package protocol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// Problem is the body of every error response. Programs use the code, whose meaning never
// changes. The text is for people and may change.
type Problem struct {
	Error string    `json:"error"`
	Code  core.Code `json:"code"`
	// If a limit of the tenant was reached: its name, the allowed and the used amount,
	// and the time at which it ends (RFC 3339). Without a time it ends when a run waits
	// or ends.
	Limit   account.LimitKind `json:"limit,omitempty"`
	Allowed string            `json:"allowed,omitempty"`
	Used    string            `json:"used,omitempty"`
	EndsAt  string            `json:"ends_at,omitempty"`

	ends time.Time // EndsAt
}

// ErrChild refuses a decision on the ticket of a call that waits for a child run: only
// the end of that run decides it.
var ErrChild = core.Errorf(core.CodeChild, "the call waits for a child run, whose end alone decides it")

// ErrTimer refuses an answer to a call that waits for a time. It asked nothing: it continues by
// itself, unless the native API decides it earlier.
var ErrTimer = core.Errorf(core.CodeInvalid, "the call waits for a time, not for an answer")

// statuses maps codes to HTTP statuses; a code that is absent is a 500.
var statuses = map[core.Code]int{
	core.CodeInvalid:       http.StatusBadRequest,
	core.CodeUnsupported:   http.StatusBadRequest,
	core.CodeUnauthorized:  http.StatusUnauthorized,
	core.CodeDenied:        http.StatusForbidden,
	core.CodeForbidden:     http.StatusNotFound, // see Public
	core.CodeNotFound:      http.StatusNotFound,
	core.CodeMethod:        http.StatusMethodNotAllowed,
	core.CodeNotAcceptable: http.StatusNotAcceptable,
	core.CodeConflict:      http.StatusConflict,
	core.CodeBusy:          http.StatusConflict,
	core.CodeDecided:       http.StatusConflict,
	core.CodeChild:         http.StatusConflict,
	core.CodeStale:         http.StatusConflict,
	core.CodeSuperseded:    http.StatusConflict,
	core.CodeClosing:       http.StatusConflict,
	core.CodeCorrupt:       http.StatusConflict, // of a damaged thread: see Public
	core.CodeDeleted:       http.StatusGone,
	core.CodeTooLarge:      http.StatusRequestEntityTooLarge,
	core.CodeFull:          http.StatusTooManyRequests,
	core.CodeTenantLimit:   http.StatusTooManyRequests,
	core.CodeTenantSpend:   http.StatusPaymentRequired,
	core.CodeThrottled:     http.StatusServiceUnavailable,
	core.CodeUnavailable:   http.StatusServiceUnavailable,
}

// Status returns the HTTP status of a code.
func Status(code core.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// Public returns the part of err that a client may read. If an error is not the client's
// fault, a general sentence replaces its text, since the text can name hosts and records.
// Errors between workers (a lost claim, a record that only a newer program reads) become
// an unavailable service. A forbidden thread looks like a thread that does not exist, so
// that clients cannot find out which ids are in use.
func Public(err error) Problem {
	var tooLarge *http.MaxBytesError
	code := core.CodeOf(err)
	switch {
	case errors.As(err, &tooLarge): // net/http's, which has no code of ours
		return Problem{Error: fmt.Sprintf("request body is larger than %d bytes", tooLarge.Limit), Code: core.CodeTooLarge}
	case code == core.CodeForbidden:
		return Problem{Error: "not found", Code: core.CodeNotFound}
	case code == core.CodeCorrupt:
		damaged, ok := errors.AsType[*store.DamagedError](err)
		if !ok {
			return Problem{Error: "internal error", Code: core.CodeInternal}
		}
		return Problem{Error: damagedText(damaged), Code: code}
	case code == core.CodeSchema, code == core.CodeSuspect, code == core.CodeApplied, code == core.CodeFenced,
		code == core.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || clientLeft(err)):
		code = core.CodeUnavailable // internal to the runtime, and resolved by another attempt
	}
	switch Status(code) {
	case http.StatusServiceUnavailable:
		if errors.Is(err, store.ErrUnwritable) { // an immediate retry gets the same error
			return Problem{Error: store.ErrUnwritable.Error(), Code: code}
		}
		return Problem{Error: "the service cannot answer now, try again", Code: code}
	case http.StatusInternalServerError:
		return Problem{Error: "internal error", Code: core.CodeInternal}
	}
	p := Problem{Error: err.Error(), Code: code}
	if reached, ok := errors.AsType[*account.ReachedError](err); ok {
		p.Limit, p.Allowed, p.Used = reached.Limit, reached.Allowed, reached.Used
		if reached.Ends != 0 {
			p.ends = time.UnixMilli(reached.Ends).UTC()
			p.EndsAt = p.ends.Format(time.RFC3339)
		}
	}
	return p
}

// damagedText says what can be done about a thread whose head cannot be read. It has no owner
// that is known, so that only an operator may delete it.
func damagedText(e *store.DamagedError) string {
	state := "damaged"
	if e.Quarantined != 0 {
		state = "damaged and quarantined"
	}
	return fmt.Sprintf("thread %s is %s and cannot be used or deleted by a client: the operator can run doctor release %[1]s after a repair, or doctor delete %[1]s", e.Key.Thread, state)
}

// placePause is after how many seconds a client should ask again that came when too many
// runs were under way.
const placePause = 5

// retryAfter is after how many seconds to ask again what was refused; 0: not said.
func (p Problem) retryAfter(now time.Time) int {
	switch {
	case Status(p.Code) == http.StatusServiceUnavailable:
		return 1
	case p.Limit == "":
		return 0
	case p.ends.IsZero():
		return placePause
	}
	return max(1, int(math.Ceil(p.ends.Sub(now).Seconds())))
}

// Refuse writes err as a JSON [Problem] and logs the details that the client may not
// read. It must not be called after a stream has started.
func Refuse(w http.ResponseWriter, log *slog.Logger, err error) {
	p := Public(err)
	status := Status(p.Code)
	if seconds := p.retryAfter(time.Now()); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	Log(log, err)
	JSON(w, status, p)
}

// clientLeft reports an error of a client that closed its side of the connection before
// it had its response: its request's context is cancelled then.
func clientLeft(err error) bool { return errors.Is(err, context.Canceled) }

// Log records err if its text is kept from the client, with the stack of a panic; at
// level debug if the client has left.
func Log(log *slog.Logger, err error) {
	if clientLeft(err) {
		log.Debug("client left before the response", "error", err)
		return
	}
	if Status(Public(err).Code) < http.StatusInternalServerError {
		return
	}
	log.Error("request failed", env.ErrorAttrs(err)...)
}

// JSON writes a response whose body is a value as JSON. It encodes the body before it
// sends the status, so that an encoding error is a 500 and never half a response.
func JSON(w http.ResponseWriter, status int, value any) {
	body, err := core.EncodeJSON(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal error","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs nothing
}
