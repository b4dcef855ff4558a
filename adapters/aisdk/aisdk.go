package aisdk

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/runtime"
)

// Starter starts runs.
type Starter interface {
	HasAgent(id string) bool
	// Submit returns when the run is durably queued.
	Submit(context.Context, mailbox.Submission) (mailbox.Receipt, error)
	// Stream returns when the run's stream has ended, with run_finish or
	// run_yield. An error before the first event means that the submission was
	// refused. A context that is cancelled, because the client went away, must
	// not end the run. The listener is never called concurrently.
	Stream(context.Context, mailbox.Submission, runtime.Listener) (mailbox.Receipt, error)
}

// Decider takes decisions on suspended calls of a thread.
type Decider interface {
	DecideThread(context.Context, core.Identity, string, mailbox.Deciding) (mailbox.Decided, error)
	// StreamDecisions takes decisions in order and emits what comes after them,
	// until the run is done or waits again. It returns those that were accepted; an
	// error before the first event is that of the one behind them. It treats the
	// context and the listener as Starter.Stream does.
	StreamDecisions(context.Context, core.Identity, string, []mailbox.Deciding, runtime.Listener) ([]mailbox.Decided, error)
}

// Reader reads threads and follows runs.
type Reader interface {
	Thread(ctx context.Context, id core.Identity, thread string) (runtime.ThreadInfo, error)
	// Run reads a run, with the tickets that it waits with.
	Run(ctx context.Context, id core.Identity, run core.ID) (core.Run, error)
	Messages(ctx context.Context, id core.Identity, thread string, q runtime.MessageQuery) (runtime.MessagePage, error)
	// Follow emits a run's events from its first until run_finish.
	Follow(ctx context.Context, id core.Identity, run core.ID, listener runtime.Listener) error
}

// Canceller cancels what is active on a thread.
type Canceller interface {
	CancelThread(ctx context.Context, id core.Identity, thread string) (core.ID, error)
}

// Runtime is what the handler needs of the runtime.
type Runtime interface {
	Starter
	Decider
	Reader
	Canceller
}

// Options configures [New].
type Options struct {
	Runtime Runtime  // required
	Env     *env.Env // required

	DefaultAgent string // for requests that name none; empty: they are refused
	// Buffered says that the transport cannot stream: a chat request is queued
	// and answered with 202 and the address of its stream.
	Buffered bool
	// StreamURL is the base address of the server that can stream, named in
	// those answers; empty: a path alone.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()
}

type handler struct {
	Options
}

// New returns the handler of all AI SDK routes.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &handler{o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/ai-sdk/chat", h.chat)
	mux.HandleFunc("POST /v1/ai-sdk/threads/{thread}/runs", h.chat)
	mux.HandleFunc("POST /v1/ai-sdk/agents/{agent}/runs", h.chat)
	mux.HandleFunc("GET /v1/ai-sdk/chat/{thread}/stream", h.resume)
	mux.HandleFunc("GET /v1/ai-sdk/threads/{thread}/stream", h.resume)
	mux.HandleFunc("GET /v1/ai-sdk/threads/{thread}/messages", h.messages)
	mux.HandleFunc("POST /v1/ai-sdk/threads/{thread}/cancel", h.cancel)
	return mux
}
