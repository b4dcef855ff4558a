package agui

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// Options configures [New]. Every field may be zero.
type Options struct {
	// Buffered is set if the transport cannot stream: a request that starts a run then
	// queues it and gets 202 with the address of its stream.
	Buffered bool
	// StreamURL is put before the path of a stream in those responses: the address of the
	// server that can stream, or the prefix that a mux strips. Empty: only the path.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()
}

type handler struct {
	protocol.Server
}

// New returns the handler of all AG-UI routes over a host; nil options are the zero ones. It
// is for the Mounts of package httpapi, which identifies callers.
func New(host protocol.Host, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	h := &handler{protocol.NewServer(host, protocol.Options(*o))}
	return h.Routes(map[string]protocol.Route{
		"POST /v1/ag-ui/run":                        h.run,
		"POST /v1/ag-ui/threads/{thread}/runs":      h.run,
		"POST /v1/ag-ui/agents/{agent}/runs":        h.run,
		"POST /v1/ag-ui/connect":                    h.connect,
		"POST /v1/ag-ui/threads/{thread}/connect":   h.connect,
		"GET /v1/ag-ui/threads/{thread}/stream":     h.stream,
		"GET /v1/ag-ui/threads/{thread}/messages":   h.messages,
		"POST /v1/ag-ui/threads/{thread}/cancel":    h.Cancel(cancelledBody),
		"POST /v1/ag-ui/threads/{thread}/interrupt": h.Interrupt(interruptedBody),
	})
}

// streamPath is where the stream of a thread's run is.
func streamPath(thread string) string {
	return "/v1/ag-ui/threads/" + url.PathEscape(thread) + "/stream"
}

// framed is an Encoder as protocol.Serve wants one: each payload is the data of a frame
// that has nothing else.
type framed struct {
	*encoder
	frames []protocol.Frame
}

// Header implements protocol.Encoder.
func (*framed) Header() http.Header { return nil }

// Encode implements protocol.Encoder.
func (f *framed) Encode(e core.Event) ([]protocol.Frame, error) {
	payloads, err := f.encoder.Encode(e)
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
	f.frames = protocol.DataFrames(f.frames, f.encoder.Fail(text, code))
	return f.frames
}
