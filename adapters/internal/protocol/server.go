package protocol

import (
	"log/slog"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Options says how a host is served, the same for every protocol.
type Options struct {
	// Buffered says that the transport cannot stream: a request that starts a run
	// queues it and gets 202 with the address of its stream.
	Buffered bool
	// StreamURL is put before the path of a stream in those responses: the address of the
	// server that can stream, or the prefix that a mux strips; empty: the path alone.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()
}

// Server serves a host: it is what the handler of every protocol is made of.
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

// Hide makes what belongs to others look like what does not exist, in the same
// words: what, its parts joined by blanks, is not found. Other errors stay.
func Hide(err error, what ...string) error {
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeForbidden:
		return core.Errorf(core.CodeNotFound, "%s", strings.Join(append(what, "not found"), " "))
	}
	return err
}
