// Package toolcall defines what may be stored of a call: the limits of its arguments and
// result, and the checks of all results, tickets and decisions.
package toolcall

import (
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

// The limits, in bytes.
const (
	MaxArguments = 256 << 10 // the arguments' JSON
	MaxResult    = 1 << 20   // the result's data, message and metadata together
)

// ReadResult is the name of the runtime's own tool, which models are offered where a
// conversation shows large results as references: it returns pieces of them. No other
// tool has it.
const ReadResult = "read_result"

// The errors of the limits.
var (
	// ErrArgumentsTooLarge is returned for arguments of more than [MaxArguments] bytes.
	ErrArgumentsTooLarge = core.Errorf(core.CodeTooLarge, "arguments are larger than %d bytes", MaxArguments)
	// ErrResultTooLarge is returned for a result of more than [MaxResult] bytes.
	ErrResultTooLarge = core.Errorf(core.CodeTooLarge, "result is larger than %d bytes", MaxResult)
)

// CheckResult says why a result cannot be stored: [ErrResultTooLarge], or data or
// metadata that are not JSON. Package toolrun asks it about what a tool returns, and a run
// about what a gate gives a call.
func CheckResult(r core.ToolResult) error {
	size := len(r.Data) + len(r.Message)
	for name, value := range r.Metadata {
		size += len(name) + len(value)
	}
	if size > MaxResult { // before the rest, which takes time for each byte
		return ErrResultTooLarge
	}
	if r.Data != nil && !ValidJSON(r.Data) {
		return errors.New("the result's data is not JSON")
	}
	if len(r.Metadata) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) { // sorted: each run of it says the same
		if name == "" || !utf8.ValidString(name) || !ValidJSON(r.Metadata[name]) {
			return fmt.Errorf("the result's metadata %q is not JSON under a name", core.Excerpt(name))
		}
	}
	return nil
}

// ValidJSON reports whether b can be stored: json.Valid lets every byte pass
// inside a string.
func ValidJSON(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }

// maxComplaint bounds, in bytes, an error that may quote the arguments; the names come
// first.
const maxComplaint = 500

// Complaint is what the model reads of an error.
func Complaint(err error) string {
	if Panicked(err) {
		return "the tool panicked" // its text is for the log alone
	}
	return wire.Shorten(err.Error(), maxComplaint)
}

// Panicked reports whether err is a panic.
func Panicked(err error) bool {
	_, ok := errors.AsType[*env.PanicError](err)
	return ok
}

type fatalError struct{ err error }

func (f *fatalError) Error() string { return f.err.Error() }
func (f *fatalError) Unwrap() error { return f.err }

// Fatal marks an error of a tool as the end of the run; nil is nil.
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
