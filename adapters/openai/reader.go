package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/reveille-run/reveille/core/model"
)

// reader reads one stream to its end.
type reader struct {
	events *decoder
	turn   turn
	redact func(text string) string
}

// each yields the deltas in order, DeltaStop last. It returns complete when the
// stream reached its end, and no error when yield asked to stop. Whatever comes
// after a finish reason can only be usage: a stream that breaks off there is a
// complete turn.
func (r *reader) each(yield func(model.Delta) bool) (complete bool, err error) {
	for {
		e, err := r.events.next()
		done := err == nil && string(e.data) == "[DONE]"
		if done || err != nil {
			if !done && r.turn.finish == "" {
				return false, cut(err)
			}
			stop, err := r.turn.end()
			if err == nil {
				yield(stop)
			}
			return done || r.turn.finish != "", err
		}
		if len(e.data) == 0 {
			continue
		}
		if e.name == "error" {
			return false, parseFailure(e.data).err(r.redact)
		}
		c, err := parseChunk(e.data)
		if err != nil {
			return false, err
		}
		if isError(&c) {
			return false, parseFailure(e.data).err(r.redact)
		}
		for _, d := range r.turn.add(&c) {
			if !yield(d) {
				return false, nil
			}
		}
	}
}

// isError reports whether a chunk is an error in a stream that began well.
func isError(c *chunk) bool {
	return len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) || c.Object == "error"
}

// cut is the error of a body that ended or failed before the turn did.
func cut(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return interrupted("the stream ended without a finish reason")
	case errors.Is(err, errLineTooLong):
		return &model.Error{Kind: model.KindProvider, Message: fmt.Sprintf("openai: %v", err)}
	}
	return interrupted(fmt.Sprintf("read the stream: %v", err))
}
