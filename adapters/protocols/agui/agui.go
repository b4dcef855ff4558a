package agui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/reveille-run/reveille/adapters/protocols/protocol"
	"github.com/reveille-run/reveille/core"
)

// Aliases finds a run by the name that a client gave it.
type Aliases interface {
	// RunOfKey returns the run that reads, or has read, what was submitted to a thread
	// under a key; ok is false when nothing was.
	RunOfKey(ctx context.Context, id core.Identity, thread, key string) (run core.ID, ok bool, err error)
}

// Options configures [New].
type Options struct {
	protocol.Options
	Aliases Aliases // required; the runtime is one
}

type handler struct {
	Options
}

// New returns the handler of all AG-UI routes.
func New(o Options) http.Handler {
	h := &handler{o}
	return o.Routes(map[string]protocol.Route{
		"POST /v1/ag-ui/run":                        h.run,
		"POST /v1/ag-ui/threads/{thread}/runs":      h.run,
		"POST /v1/ag-ui/agents/{agent}/runs":        h.run,
		"POST /v1/ag-ui/connect":                    h.connect,
		"POST /v1/ag-ui/threads/{thread}/connect":   h.connect,
		"GET /v1/ag-ui/threads/{thread}/stream":     h.stream,
		"GET /v1/ag-ui/threads/{thread}/messages":   h.messages,
		"POST /v1/ag-ui/threads/{thread}/cancel":    o.Cancel(cancelledBody),
		"POST /v1/ag-ui/threads/{thread}/interrupt": o.Interrupt(interruptedBody),
	})
}

// streamPath is where the stream of a thread's run is.
func streamPath(thread string) string {
	return "/v1/ag-ui/threads/" + url.PathEscape(thread) + "/stream"
}

// framed is an Encoder as protocol.Serve wants one: each payload is the data of a frame
// that has nothing else.
type framed struct {
	*Encoder
	frames []protocol.Frame
}

// Header implements protocol.Encoder.
func (*framed) Header() http.Header { return nil }

// Encode implements protocol.Encoder.
func (f *framed) Encode(e core.Event) ([]protocol.Frame, error) {
	payloads, err := f.Encoder.Encode(e)
	f.frames = protocol.DataFrames(f.frames, payloads)
	return f.frames, err
}

// Fail implements protocol.Encoder.
func (f *framed) Fail(err error) []protocol.Frame {
	p := protocol.Public(err)
	text, code := p.Error, string(p.Code)
	if errors.Is(err, protocol.ErrUnfinished) {
		text, code = interrupted, "stream_ended"
	}
	f.frames = protocol.DataFrames(f.frames, f.Encoder.Fail(text, code))
	return f.frames
}
