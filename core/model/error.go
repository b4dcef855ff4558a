package model

import "time"

// ErrorKind classes what went wrong with an inference.
type ErrorKind string

// The kinds. The first five may pass by themselves, the others do not.
const (
	KindProvider     ErrorKind = "provider"     // 5xx
	KindRateLimited  ErrorKind = "rate_limited" // 429
	KindOverloaded   ErrorKind = "overloaded"   // 503, 529
	KindTimeout      ErrorKind = "timeout"      // 408, 504, no response in time
	KindInterrupted  ErrorKind = "interrupted"  // the stream broke off, or ended without DeltaStop
	KindOverflow     ErrorKind = "context_overflow"
	KindInvalid      ErrorKind = "invalid_request"
	KindUnauthorized ErrorKind = "unauthorized"
	KindNotFound     ErrorKind = "model_not_found"
	KindFiltered     ErrorKind = "content_filtered"
	KindQuota        ErrorKind = "quota" // a 429 that waiting does not cure
)

// Error is a failed inference, in the provider's terms: the values by which a step decides
// about a retry. It has no [core.Code].
type Error struct {
	Kind       ErrorKind
	Message    string        // for the log: it may quote the provider's text
	Public     string        // what clients may read instead of a general sentence; empty: that
	Status     int           // HTTP status, 0 if no response came
	RetryAfter time.Duration // as the provider asked; 0: it did not
	Limit      int           // of KindOverflow: how many tokens a request may have, as the provider said; 0: it did not
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Transient reports whether the same request may succeed later.
func (e *Error) Transient() bool {
	switch e.Kind {
	case KindProvider, KindRateLimited, KindOverloaded, KindTimeout, KindInterrupted:
		return true
	}
	return false
}
