package sqs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core"
)

// maxBody is more than the longest wake-up takes, in bytes.
const maxBody = 1024

// Encode returns a hint's message body. An invalid hint is an error with code
// core.CodeInvalid.
func Encode(w core.WakeUp) (string, error) {
	if err := w.Check(); err != nil {
		return "", err
	}
	body, err := json.Marshal(w)
	if err != nil {
		return "", core.Errorf(core.CodeInternal, "encode wake-up: %w", err)
	}
	return string(body), nil
}

// Decode reads a message body: exactly one wake-up, without unknown keys, whose
// names are valid. Anything else is an error with code core.CodeInvalid; such a
// message can only be dropped.
func Decode(body string) (core.WakeUp, error) {
	if len(body) > maxBody {
		return core.WakeUp{}, core.Errorf(core.CodeInvalid, "wake-up of %d bytes, at most %d are allowed", len(body), maxBody)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.DisallowUnknownFields()
	var w core.WakeUp
	if err := d.Decode(&w); err != nil {
		return core.WakeUp{}, core.Errorf(core.CodeInvalid, "decode wake-up: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return core.WakeUp{}, core.Errorf(core.CodeInvalid, "decode wake-up: something follows it")
	}
	if err := w.Check(); err != nil {
		return core.WakeUp{}, err
	}
	return w, nil
}
