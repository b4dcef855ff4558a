package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
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

// Reader reads threads and runs and follows runs.
type Reader interface {
	Thread(ctx context.Context, id core.Identity, thread string) (runtime.ThreadInfo, error)
	Messages(ctx context.Context, id core.Identity, thread string, q runtime.MessageQuery) (runtime.MessagePage, error)
	Run(ctx context.Context, id core.Identity, run core.ID) (core.Run, error)
	// Follow emits a run's events from its first until run_finish.
	Follow(ctx context.Context, id core.Identity, run core.ID, listener runtime.Listener) error
}

// Canceller cancels runs.
type Canceller interface {
	CancelRun(ctx context.Context, id core.Identity, run core.ID) error
	CancelThread(ctx context.Context, id core.Identity, thread string) (core.ID, error)
}

// Decider takes decisions on suspended calls.
type Decider interface {
	Decide(ctx context.Context, id core.Identity, run core.ID, d mailbox.Deciding) (mailbox.Decided, error)
	// DecideThread is Decide for the thread's open run.
	DecideThread(ctx context.Context, id core.Identity, thread string, d mailbox.Deciding) (mailbox.Decided, error)
}

// Runtime is what the routes need of the runtime.
type Runtime interface {
	Starter
	Reader
	Canceller
	Decider
}

// Options configures [New].
type Options struct {
	Runtime Runtime  // required
	Env     *env.Env // required
	// Authenticate says who sent a request, from verified claims. An error is
	// answered with 401 unless it has another code. nil refuses every request.
	Authenticate func(*http.Request) (core.Identity, error)

	DefaultAgent string // for requests that name none; empty: they are refused
	// Mounts are the protocols' handlers by ServeMux pattern, such as
	// "/v1/ai-sdk/". They find the identity in the context.
	Mounts map[string]http.Handler
	// Buffered says that the transport cannot stream: POST /v1/runs queues the
	// run and answers 202 with the address of its stream.
	Buffered bool
	// StreamURL is the base address of the server that can stream, named in
	// those answers; empty: a path alone.
	StreamURL string
	// Healthy returns why the process should be replaced, which /health tells
	// everybody; nil: there is no reason, ever.
	Healthy func() error
	Log     *slog.Logger // nil: slog.Default()
}

type api struct {
	Options
	mux *http.ServeMux
}

// New returns the handler of all routes. It panics when two patterns conflict.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Authenticate == nil {
		o.Authenticate = nobody
	}
	a := &api{Options: o, mux: http.NewServeMux()}
	a.mux.HandleFunc("GET /health", a.health)
	a.mux.HandleFunc("GET /health/live", a.health)
	a.route("POST /v1/threads/{thread}/messages", a.postMessages)
	a.route("GET /v1/threads/{thread}/messages", a.getMessages)
	a.route("GET /v1/threads/{thread}", a.getThread)
	a.route("POST /v1/threads/{thread}/cancel", a.cancelThread)
	a.route("POST /v1/threads/{thread}/decision", a.decideThread)
	a.route("POST /v1/runs", a.postRun)
	a.route("GET /v1/runs/{run}", a.getRun)
	a.route("POST /v1/runs/{run}/cancel", a.cancelRun)
	a.route("POST /v1/runs/{run}/decision", a.decideRun)
	a.route("GET /v1/runs/{run}/events/stream", a.followRun)
	for pattern, handler := range o.Mounts {
		a.mux.Handle(pattern, handler)
	}
	return a
}

// health says the same whether it is asked if the process is ready or if it is
// alive: what makes it unhealthy only goes away with it.
func (a *api) health(w http.ResponseWriter, _ *http.Request) {
	if a.Healthy != nil {
		if err := a.Healthy(); err != nil {
			protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: err.Error()})
			return
		}
	}
	protocol.JSON(w, http.StatusOK, health{Status: "healthy"})
}

type health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}
