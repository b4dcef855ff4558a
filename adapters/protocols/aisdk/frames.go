package aisdk

import (
	"errors"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// framed is an Encoder as protocol.Serve wants one: each payload is the data of a
// frame that has nothing else.
type framed struct {
	encoder
	frames []protocol.Frame
}

// Header implements protocol.Encoder.
func (*framed) Header() http.Header {
	return http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}}
}

// Encode implements protocol.Encoder.
func (f *framed) Encode(e core.Event) ([]protocol.Frame, error) {
	f.frames = protocol.DataFrames(f.frames, f.encoder.Encode(e))
	return f.frames, nil
}

// Fail implements protocol.Encoder. The client's protocol reports a run that continues
// only as an error.
func (f *framed) Fail(err error) []protocol.Frame {
	text := protocol.Public(err).Error
	if errors.Is(err, protocol.ErrUnfinished) {
		text = interrupted
	}
	f.frames = protocol.DataFrames(f.frames, f.encoder.Fail(text))
	return f.frames
}

// interrupted is what a client reads whose stream ended before the run.
const interrupted = "the stream ended before its run, which continues; reconnect to follow it"
