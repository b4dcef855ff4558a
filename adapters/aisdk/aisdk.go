package aisdk

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
)

// Options configures [New].
type Options = protocol.Options

type handler struct {
	Options
}

// New returns the handler of all AI SDK routes.
func New(o Options) http.Handler {
	h := &handler{o}
	return protocol.Later(func() http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /v1/ai-sdk/chat", h.Handle(h.chat))
		mux.HandleFunc("POST /v1/ai-sdk/threads/{thread}/runs", h.Handle(h.chat))
		mux.HandleFunc("POST /v1/ai-sdk/agents/{agent}/runs", h.Handle(h.chat))
		mux.HandleFunc("GET /v1/ai-sdk/chat/{thread}/stream", h.Handle(h.resume))
		mux.HandleFunc("GET /v1/ai-sdk/threads/{thread}/stream", h.Handle(h.resume))
		mux.HandleFunc("GET /v1/ai-sdk/threads/{thread}/messages", h.Handle(h.messages))
		mux.HandleFunc("POST /v1/ai-sdk/threads/{thread}/cancel", h.Handle(h.cancel))
		mux.HandleFunc("POST /v1/ai-sdk/threads/{thread}/interrupt", h.Handle(h.interrupt))
		return mux
	})
}
