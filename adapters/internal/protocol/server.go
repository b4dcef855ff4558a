package protocol

import (
	"log/slog"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Options configures how a host is served, the same for every protocol.
type Options struct {
	// Buffered declares that the transport cannot stream: a request that starts a run
	// queues it and gets a 202 with the address of its stream.
	Buffered bool
	// StreamURL is put before the path of a stream in those responses: the address of the
	// server that can stream, or the prefix that a mux strips. Empty: only the path.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()
}

// Server serves a host. The handler of every protocol uses one.
type Server struct {
	Host      Host
	Env       *env.Env // the host's
	Buffered  bool
	StreamURL string
	Log       *slog.Logger // never nil
}

// NewServer returns the server of a host.
func NewServer(h Host, o Options) Server {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return Server{Host: h, Env: h.Env(), Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Log}
}

// Hide turns the error for an object of another user into the error for an object that
// does not exist, in the same words: what, its parts joined by spaces, is not found. It
// returns other errors unchanged.
func Hide(err error, what ...string) error {
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeForbidden:
		return core.Errorf(core.CodeNotFound, "%s", strings.Join(append(what, "not found"), " "))
	}
	return err
}
