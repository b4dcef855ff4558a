package inference

import (
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core/model"
)

// RetryError is a call that failed and that another delivery of the run makes again, after
// a pause.
type RetryError struct {
	Wait  time.Duration
	Cause error
}

// Error implements error with the text of the cause.
func (r *RetryError) Error() string { return "inference: " + r.Cause.Error() }

// Unwrap returns the failure.
func (r *RetryError) Unwrap() error { return r.Cause }

// EndError ends the run.
type EndError struct {
	Code  string // of the run's end
	Where string // what clients may read of it; empty: what the code says
	Cause error  // for the log alone: it may quote anything
}

// Error returns the cause, after where it was.
func (e *EndError) Error() string {
	if e.Where == "" {
		return e.Cause.Error()
	}
	return e.Where + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Cause }

// RefusedError is a call that was not made, since the model's circuit is open.
type RefusedError struct{ Wait time.Duration }

// Error has the time for which the circuit refuses calls.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the circuit of the model is open in this process, for %s more", e.Wait)
}

// Unwrap makes it a failure that passes by itself, of a provider that has too much to do.
func (e *RefusedError) Unwrap() error {
	return &model.Error{Kind: model.KindOverloaded, Message: e.Error(), RetryAfter: e.Wait}
}

// GoneError is the error of a pool without remaining members.
type GoneError struct {
	Public string // what clients may read: the pool, and why each member was left
	Cause  error  // the failure of the last one
}

// Error returns both.
func (e *GoneError) Error() string { return e.Public + ": " + e.Cause.Error() }

// Unwrap returns the failure of the last member.
func (e *GoneError) Unwrap() error { return e.Cause }

// Passing reports whether another call of the model may succeed. An unknown error is
// taken for permanent: the same request would fail the same way.
func Passing(err error) bool {
	failure, ok := errors.AsType[*model.Error](err)
	return ok && failure.Transient()
}

// errTruncated is a stream that has ended without a stop.
var errTruncated = &model.Error{Kind: model.KindInterrupted, Message: "model stream ended before the turn was complete"}

// Classify returns the kind of a failure and the pause that the provider asks for, 0 for
// none.
func Classify(err error) (model.ErrorKind, time.Duration) {
	var failure *model.Error
	if errors.As(err, &failure) {
		return failure.Kind, failure.RetryAfter
	}
	return model.KindInterrupted, 0
}

// waits reports whether a call that failed so is worth the wait for another one.
func waits(err error, asked time.Duration) bool { return Passing(err) && asked <= maxRetryAfter }
