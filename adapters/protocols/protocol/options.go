package protocol

import (
	"log/slog"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Options is what the handler of every protocol is made of.
type Options struct {
	Runtime Runtime  // required
	Env     *env.Env // required

	DefaultAgent string // for requests that name none; empty: they are refused
	// Buffered says that the transport cannot stream: a request that starts a run
	// queues it and gets 202 with the address of its stream.
	Buffered bool
	// StreamURL is the base address of the server that can stream, named in
	// those responses; empty: a path alone.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()
}

// Logger returns Log, or the default of the program.
func (o Options) Logger() *slog.Logger {
	if o.Log == nil {
		return slog.Default()
	}
	return o.Log
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
