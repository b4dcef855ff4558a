package agui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/reveille-run/reveille/adapters/protocol"
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
	return protocol.Later(func() http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/ag-ui/run", h.Handle(h.run))
		mux.HandleFunc("POST /v1/ag-ui/threads/{thread}/runs", h.Handle(h.run))
		mux.HandleFunc("POST /v1/ag-ui/agents/{agent}/runs", h.Handle(h.run))
		mux.HandleFunc("POST /v1/ag-ui/connect", h.Handle(h.connect))
		mux.HandleFunc("POST /v1/ag-ui/threads/{thread}/connect", h.Handle(h.connect))
		mux.HandleFunc("GET /v1/ag-ui/threads/{thread}/stream", h.Handle(h.stream))
		mux.HandleFunc("GET /v1/ag-ui/threads/{thread}/messages", h.Handle(h.messages))
		mux.HandleFunc("POST /v1/ag-ui/threads/{thread}/cancel", h.Handle(h.cancel))
		mux.HandleFunc("POST /v1/ag-ui/threads/{thread}/interrupt", h.Handle(h.interrupt))
		return mux
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
	return f.frame(payloads), err
}

// Fail implements protocol.Encoder.
func (f *framed) Fail(err error) []protocol.Frame {
	p := protocol.Public(err)
	if errors.Is(err, protocol.ErrUnfinished) {
		return f.frame(f.Encoder.Fail(interrupted, "stream_ended"))
	}
	return f.frame(f.Encoder.Fail(p.Error, string(p.Code)))
}

func (f *framed) frame(payloads [][]byte) []protocol.Frame {
	f.frames = f.frames[:0]
	for _, p := range payloads {
		f.frames = append(f.frames, protocol.Frame{Data: p})
	}
	return f.frames
}
