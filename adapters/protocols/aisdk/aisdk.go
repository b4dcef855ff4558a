package aisdk

import (
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/newest"
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

// New returns the handler of all AI SDK routes over a host; nil options are the zero ones. It
// is for the Mounts of package httpapi, which identifies callers.
func New(host protocol.Host, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	h := &handler{protocol.NewServer(host, protocol.Options(*o))}
	return protocol.Repeats(h.Routes(map[string]protocol.Route{
		"POST /v1/ai-sdk/chat":                       h.chat,
		"POST /v1/ai-sdk/threads/{thread}/runs":      h.chat,
		"POST /v1/ai-sdk/agents/{agent}/runs":        h.chat,
		"GET /v1/ai-sdk/chat/{thread}/stream":        h.resume,
		"GET /v1/ai-sdk/threads/{thread}/stream":     h.resume,
		"GET /v1/ai-sdk/threads/{thread}/messages":   h.messages,
		"POST /v1/ai-sdk/threads/{thread}/cancel":    h.Cancel(cancelledBody),
		"POST /v1/ai-sdk/threads/{thread}/interrupt": h.Interrupt(interruptedBody),
	}), newest.List{Name: "messages", Known: []string{string(core.RoleAssistant)}})
}
