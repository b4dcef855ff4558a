package thread

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Entry is the payload of one log record M#seq: a message with the state
// changes that came with it, or state changes alone.
type Entry struct {
	Run     core.ID        `json:"run"`
	Step    int            `json:"step,omitempty"`
	Message *core.Message  `json:"message,omitempty"`
	Command *state.Command `json:"command,omitempty"` // of the step's hooks or of the call's tool
}

// Encode returns the entry's stored form. The same entry gives the same bytes.
func (e Entry) Encode() ([]byte, error) {
	b, err := core.EncodeJSON(e)
	if err != nil {
		return nil, core.Errorf(core.CodeInternal, "encode log entry: %w", err)
	}
	return b, nil
}

// DecodeEntry reads a stored entry; anything else is core.CodeCorrupt.
func DecodeEntry(b []byte) (Entry, error) {
	var e Entry
	if err := decodeStrictly(b, &e); err != nil {
		return Entry{}, core.Errorf(core.CodeCorrupt, "decode log entry: %w", err)
	}
	return e, nil
}

// decodeStrictly reads one JSON value without unknown fields and nothing else.
func decodeStrictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}
