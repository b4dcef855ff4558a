// Package secret holds values that must not be printed, such as the key of a
// provider. A [String] shows itself as *** wherever it is formatted, logged or
// encoded; only [String.Reveal] returns the text.
package secret

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/reveille-run/reveille/core"
)

// redacted replaces a secret wherever it is shown.
const redacted = "***"

// String is a secret text. The zero value has no secret, and shows as an empty text. Values
// are compared with [String.Equal]; == compares identities.
type String struct {
	// A pointer, so that fmt does not reach the text where it may not call
	// methods: in an unexported field of another struct it prints an address.
	text *string
}

// New returns text as a secret. An empty text is the zero value.
func New(text string) String {
	if text == "" {
		return String{}
	}
	return String{text: &text}
}

// Reveal returns the text, for the place that sends it and for no other.
func (s String) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret; encoding/json leaves such out under
// omitzero.
func (s String) IsZero() bool { return s.text == nil }

// Equal reports whether both hold one text, in a time that does not depend on
// where they differ.
func (s String) Equal(other String) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String implements fmt.Stringer.
func (s String) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter: every verb, %#v and %x too, shows the same.
func (s String) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements slog.LogValuer.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s String) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON implements json.Unmarshaler: it reads a string. The text that replaces a
// secret is an error: a client that sends back a redacted document would otherwise replace
// the secret by three stars.
func (s *String) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return core.Errorf(core.CodeInvalid, "a secret is a string") // never quoting the value
	}
	return s.UnmarshalText([]byte(text))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *String) UnmarshalText(text []byte) error {
	if string(text) == redacted {
		return core.Errorf(core.CodeInvalid, "%s replaces a redacted secret and is not one", redacted)
	}
	*s = New(string(text))
	return nil
}
