package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Options configures [New]. Every field but Authenticate may be zero.
type Options struct {
	// Authenticate returns the identity of a request's caller, from verified claims. An
	// error is refused with 401 unless it has another code. nil refuses every request.
	Authenticate func(*http.Request) (core.Identity, error)

	// Mounts are the protocols' handlers by ServeMux pattern, such as
	// "/v1/ai-sdk/". They find the identity in the context.
	Mounts map[string]http.Handler

	// Buffered is set if the transport cannot stream: a native route that starts a run then
	// queues it and responds with 202 and the address of its stream.
	Buffered bool
	// StreamURL is put before the path of a stream in those responses: the address of the
	// server that can stream, or the prefix that a mux strips; empty: the path alone.
	StreamURL string
	Log       *slog.Logger // nil: slog.Default()

	// UsageReaders are the users who get the usage report of their whole tenant; others get
	// their own. "*" is every user.
	UsageReaders []string
	// MaxRequests is the transport's limit of concurrent requests, for clients to read; 0:
	// no limit. The transport enforces it.
	MaxRequests int
	// MaxBody is the most bytes of a request's body; 0: 4,194,304. A larger body is refused
	// with 413 and the code too_large. If the clients of a protocol repeat the conversation in
	// each request, their older messages are skipped and do not count. Then a body has at
	// most 67,108,864 bytes with them, or MaxBody if that is more.
	MaxBody int
	// ShowModels shows callers which models of which providers respond, with their prices.
	ShowModels bool
	// ShowRequests shows the requests to models, with system prompts and tools, to the owners
	// of threads. UsageReaders read those of threads without an owner too.
	ShowRequests bool
}

type api struct {
	protocol.Server
	options   Options
	mux       http.Handler
	readiness readiness
	readers   readers
	repeating func() *http.ServeMux // mounts whose clients repeat the conversation; nil: there are none
	arriving  atomic.Int64          // bytes of large bodies that are held
}

// New returns the handler of all routes over a host, the Host of a reveille.Runtime,
// within the bounds of [protocol.Bound]; nil options are the zero ones. The routes begin
// with /v1/ and /health: to serve them under a prefix, strip it and name it in
// Options.StreamURL. New panics when two patterns conflict.
func New(host protocol.Host, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	a := &api{
		Server:  protocol.NewServer(host, protocol.Options{Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Log}),
		options: *o, readers: make(readers, mostReading),
	}
	a.repeating = sync.OnceValue(func() *http.ServeMux { return repeating(a.options.Mounts) }) // for the first long body
	if o.Authenticate == nil {
		a.options.Authenticate = nobody
	}
	a.mux = a.route()
	return protocol.Bound(a)
}

// health reports whether the process should be replaced, or cannot serve for now.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	if err := a.Host.Healthy(); err != nil {
		protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: err.Error()})
		return
	}
	if err := a.readiness.ask(r.Context(), a.Env, a.Host.Ready); err != nil {
		protocol.Log(a.Log, err)
		protocol.JSON(w, http.StatusServiceUnavailable, health{Status: "unhealthy", Reason: "the store cannot be reached"})
		return
	}
	protocol.JSON(w, http.StatusOK, health{Status: "healthy"})
}

// live reports that the process responds, and nothing else.
func (a *api) live(w http.ResponseWriter, _ *http.Request) {
	protocol.JSON(w, http.StatusOK, health{Status: "alive"})
}

// readiness remembers a result for a second: requests are not authenticated, and must not
// cost a read of the store each.
type readiness struct {
	mu   sync.Mutex // also while the store is asked: others wait for the same answer
	at   time.Time
	err  error
	once bool // it was asked
}

const (
	readyFor    = time.Second
	readyWithin = 2 * time.Second // for the store's answer
)

func (r *readiness) ask(ctx context.Context, e *env.Env, ready func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := e.Now(); !r.once || now.Sub(r.at) >= readyFor {
		within, cancel := e.WithTimeout(context.WithoutCancel(ctx), readyWithin) // who asks may leave: others have asked too
		defer cancel()
		r.err = ready(within)
		r.at, r.once = e.Now(), true
	}
	return r.err
}

type health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}
