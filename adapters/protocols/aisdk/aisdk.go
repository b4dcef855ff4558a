package aisdk

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocols/protocol"
)

// Options configures [New].
type Options = protocol.Options

type handler struct {
	Options
}

// New returns the handler of all AI SDK routes.
func New(o Options) http.Handler {
	h := &handler{o}
	return o.Routes(map[string]protocol.Route{
		"POST /v1/ai-sdk/chat":                       h.chat,
		"POST /v1/ai-sdk/threads/{thread}/runs":      h.chat,
		"POST /v1/ai-sdk/agents/{agent}/runs":        h.chat,
		"GET /v1/ai-sdk/chat/{thread}/stream":        h.resume,
		"GET /v1/ai-sdk/threads/{thread}/stream":     h.resume,
		"GET /v1/ai-sdk/threads/{thread}/messages":   h.messages,
		"POST /v1/ai-sdk/threads/{thread}/cancel":    o.Cancel(cancelledBody),
		"POST /v1/ai-sdk/threads/{thread}/interrupt": o.Interrupt(interruptedBody),
	})
}
