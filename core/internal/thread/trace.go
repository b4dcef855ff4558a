package thread

import (
	"encoding/hex"

	"github.com/reveille-run/reveille/core"
)

// TraceID names the trace of a run for trace collectors. It is written as 32
// lower-case hex digits, as in the traceparent header. The zero TraceID means no
// trace.
type TraceID [16]byte

// IsZero reports whether there is no trace.
func (t *TraceID) IsZero() bool { return *t == TraceID{} }

// String returns the 32 hex digits.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// MarshalText implements encoding.TextMarshaler; no trace is empty text.
func (t TraceID) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return []byte{}, nil
	}
	return []byte(t.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler; an empty text means no trace.
// Anything but 32 hex digits is an Error with code [core.CodeInvalid].
func (t *TraceID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*t = TraceID{}
		return nil
	}
	var id TraceID
	if len(text) != hex.EncodedLen(len(id)) {
		return invalid("trace id of %d bytes, want 32 hex digits", len(text))
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return invalid("trace id %q is not 32 hex digits", core.Excerpt(string(text)))
	}
	*t = id
	return nil
}
