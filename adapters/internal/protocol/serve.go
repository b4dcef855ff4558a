package protocol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
)

// Encoder writes the events of one response as a protocol's frames. It does no
// I/O and is not called concurrently.
type Encoder interface {
	// Header returns additional headers of the response, by canonical name; may be nil.
	Header() http.Header
	// Encode returns the frames of an event, often none. They are valid until the next
	// call. An error ends the stream early.
	Encode(core.Event) ([]Frame, error)
	// Ended reports whether Encode has returned the last frames of a stream: for its last
	// event, or for an event after which the protocol cannot continue.
	Ended() bool
	// Fail returns the last frames of a stream that ends early. Clients read only the
	// [Public] part of err. err is [ErrUnfinished] if the stream ended without another
	// error.
	Fail(err error) []Frame
}

// ErrUnfinished is a stream that ended without its last event and without another error:
// the run continues.
var ErrUnfinished = core.Errorf(core.CodeUnavailable, "stream ended before its run")

// Serve responds with the events that source emits, as the encoder writes them. The
// listener of source never waits in Emit, and it reports when the client has gone: once
// its methods have returned an error, they always return one.
//
// If source fails before the first frame, Serve writes nothing and returns the error: it
// is the refusal. If it fails later, the encoder's last frames report the error, and
// Serve returns nil, as it does when the client has gone. If source ends without an error
// and without a frame, the response is a 204: the client has everything. Serve returns
// when the last frame has left, or could not leave within [Stall].
func (v Server) Serve(w http.ResponseWriter, r *http.Request, encoder Encoder, source func(host.Listener) error) error {
	s := &stream{out: NewWriter(w), encoder: encoder, log: v.Log}
	for name, values := range encoder.Header() {
		s.out.SetHeader(name, values...)
	}
	// Written by the function that While runs in this goroutine. The end is decided in
	// there, while the loop still writes, since a stream that broke off has last frames;
	// a refusal is written outside, by the caller, when the loop has ended.
	var refusal error
	var everything bool
	err := s.out.While(r.Context(), v.Env, func() error {
		err := env.Protect(func() error { return source(s) })
		refusal, everything = s.finish(r.Context(), err)
		return nil
	})
	if err != nil {
		Log(s.log, err)
	}
	requestlog.Of(r.Context()).Stream(s.ending(r.Context()))
	if err := s.out.Err(); tooSlow(err) {
		s.log.InfoContext(r.Context(), "client too slow, stream closed", "path", r.URL.Path, "error", err)
	}
	if everything {
		w.WriteHeader(http.StatusNoContent)
	}
	return refusal
}

// tooSlow reports whether a stream ended because its reader was too slow.
func tooSlow(err error) bool {
	return errors.Is(err, ErrSlow) || errors.Is(err, os.ErrDeadlineExceeded)
}

// stream is the listener of one response.
type stream struct {
	out     *Writer
	encoder Encoder
	broken  error // of the encoder
	failed  bool  // its last frames reported an error
	log     *slog.Logger
}

// ending is how the stream ended, for the line of its request.
func (s *stream) ending(ctx context.Context) requestlog.Ending {
	switch err := s.out.Err(); {
	case tooSlow(err):
		return requestlog.ClientSlow
	case err != nil || gone(ctx):
		return requestlog.ClientLeft
	case s.failed:
		return requestlog.Failed
	}
	return requestlog.Ended
}

// Emit implements host.Listener.
func (s *stream) Emit(e core.Event) error {
	if err := s.out.Err(); err != nil {
		return err // there is no reader to encode for
	}
	frames, err := s.encode(e)
	if err != nil {
		return err
	}
	for _, f := range frames {
		if err := s.out.Write(f); err != nil {
			return err
		}
	}
	if s.encoder.Ended() && !last(e.Type) {
		return errOver // the protocol cannot go on: the source need not either
	}
	return nil
}

// Ready implements host.Listener.
func (s *stream) Ready(ctx context.Context) error { return s.out.Ready(ctx) }

// last reports whether events of a type end a stream.
func last(t core.EventType) bool { return t == core.EventRunFinish || t == core.EventRunYield }

// encode makes a panic of the encoder its error; the first one stays.
func (s *stream) encode(e core.Event) (frames []Frame, err error) {
	if s.broken != nil {
		return nil, s.broken
	}
	defer func() {
		if v := recover(); v != nil {
			err = &env.PanicError{Value: v, Stack: debug.Stack()}
		}
		s.broken = err
	}()
	if frames, err = s.encoder.Encode(e); err != nil && core.CodeOf(err) == core.CodeInternal { // others are for the client
		err = fmt.Errorf("encode %s: %w", e.Type, err)
	}
	return frames, err
}

// finish ends the stream of a source that returned err. It returns the refusal, if
// nothing was sent; everything reports that nothing needed to be sent.
func (s *stream) finish(ctx context.Context, err error) (refusal error, everything bool) {
	// First of all: from here on either a frame was sent and no refusal is possible, or
	// none was and no heartbeat can send the headers any more.
	unsent := s.out.seal()
	if s.out.Err() != nil || gone(ctx) { // there is no reader to notify; the run continues
		return nil, false
	}
	switch {
	case err != nil:
	case s.broken != nil:
		err = s.broken
	case !s.encoder.Ended():
		err = ErrUnfinished
	}
	if unsent {
		return err, err == nil
	}
	if err == nil {
		return nil, false
	}
	s.failed = true
	Log(s.log, err)
	for _, f := range s.encoder.Fail(err) {
		if s.out.Write(f) != nil {
			break // there is no reader left to notify
		}
	}
	return nil, false
}

// gone reports whether a request was cancelled because its client left. A host that
// stops cancels its requests too, whose clients wait for a word.
func gone(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), host.ErrStopping)
}
