package core

import "time"

// Millis is a point in time in unix milliseconds. Its text is ISO 8601 in UTC with
// milliseconds, as in "2026-11-22T01:54:28.250Z"; 0 means no time.
type Millis int64

// iso is ISO 8601 with milliseconds.
const iso = "2006-01-02T15:04:05.000Z07:00"

// AppendText implements encoding.TextAppender; the error is always nil.
func (m Millis) AppendText(b []byte) ([]byte, error) {
	return time.UnixMilli(int64(m)).UTC().AppendFormat(b, iso), nil
}

// MarshalText implements encoding.TextMarshaler.
func (m Millis) MarshalText() ([]byte, error) { return m.AppendText(make([]byte, 0, len(iso))) }

// UnmarshalText implements encoding.TextUnmarshaler. It takes any time of RFC 3339;
// another text is an Error with code [CodeInvalid].
func (m *Millis) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return Errorf(CodeInvalid, "%q is not an RFC 3339 time", Excerpt(string(text)))
	}
	*m = Millis(t.UnixMilli())
	return nil
}

// String returns the text.
func (m Millis) String() string {
	b, _ := m.MarshalText()
	return string(b)
}
