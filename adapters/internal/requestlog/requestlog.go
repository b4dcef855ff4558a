package requestlog

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Header is the name of the response header with the id of a request.
const Header = "X-Request-Id"

// Unmatched is the route of a request that reached none.
const Unmatched = "unmatched"

// Ending is how a stream of events ended.
type Ending string

// The endings of streams. Lambda does not report that a client has disconnected.
const (
	Ended      Ending = "ended"       // with the last event of its protocol
	Failed     Ending = "failed"      // with an error event, or before it was complete
	ClientLeft Ending = "client_left" // the client disconnected
	ClientSlow Ending = "client_slow" // the client did not read in time
)

// Options configures the lines of a transport.
type Options struct {
	Log *slog.Logger
	// Level is the level of lines; those of health checks have [slog.LevelDebug].
	Level slog.Level
	Env   *env.Env
}

// Line is the line of one request. Its methods may be called concurrently, and with a nil
// receiver, which does nothing.
type Line struct {
	options    Options
	method     string
	id         string
	invocation string
	began      time.Time
	context    context.Context

	mu     sync.Mutex
	route  string // empty: none was reached
	mount  string // where a handler is mounted whose routes are not known
	tenant string
	thread string
	run    string
	from   string // the trigger
	ending Ending
	done   bool
}

type key struct{}

// Of returns the line of a request; nil: none is written.
func Of(ctx context.Context) *Line {
	line, _ := ctx.Value(key{}).(*Line)
	return line
}

// Start starts the line of a request and returns the request with it in its context. id is
// empty for a new one; invocation is empty outside of Lambda.
func Start(r *http.Request, o Options, id, invocation string) (*http.Request, *Line) {
	if id == "" {
		id = o.Env.NewID().String()
	}
	if invocation == id {
		invocation = ""
	}
	line := &Line{options: o, method: r.Method, id: id, invocation: invocation, began: o.Env.Now(), context: r.Context()}
	return r.WithContext(context.WithValue(r.Context(), key{}, line)), line
}

// ID returns the id of the request, for [Header].
func (l *Line) ID() string { return core.Excerpt(l.id) }

// Route sets the route that a request reached, by the pattern that [http.ServeMux] found,
// with the thread and the run in its path. A route in a mount replaces that of the mount.
func (l *Line) Route(r *http.Request) {
	if l == nil || r.Pattern == "" {
		return
	}
	l.set(func() {
		l.route = r.Pattern
		if strings.HasPrefix(l.route, "/") {
			l.route = core.Excerpt(r.Method) + " " + l.route
		}
		l.thread, l.run = r.PathValue("thread"), r.PathValue("run")
	})
}

// Named sets the name of a route that no ServeMux found.
func (l *Line) Named(route string) { l.set(func() { l.route = route }) }

// Mount sets the pattern of a handler whose routes may not be known. It counts for a response
// that is not 404 or 405.
func (l *Line) Mount(r *http.Request) {
	l.set(func() { l.mount = core.Excerpt(r.Method) + " " + r.Pattern })
}

// Tenant sets the tenant of the caller.
func (l *Line) Tenant(tenant string) { l.set(func() { l.tenant = tenant }) }

// Thread sets the thread that the request is for, if its path has none.
func (l *Line) Thread(thread string) { l.set(func() { l.thread = thread }) }

// Trigger sets the name of the trigger that the request is for.
func (l *Line) Trigger(name string) { l.set(func() { l.from = name }) }

// Stream sets how the stream of the response ended.
func (l *Line) Stream(e Ending) { l.set(func() { l.ending = e }) }

func (l *Line) set(change func()) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// Response is the outcome of a request, as its transport knows it.
type Response struct {
	Status  int   // 0: the handler wrote nothing, which is a 200, or a 500 if it panicked
	Bytes   int64 // of the body
	Stream  bool  // it is a stream of events
	Aborted bool  // the handler panicked or cut its connection
	Left    bool  // the client has disconnected
}

// End writes the line. Only the first call counts.
func (l *Line) End(response Response) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return
	}
	l.done = true
	if response.Status == 0 {
		response.Status = http.StatusOK
		if response.Aborted {
			response.Status = http.StatusInternalServerError
		}
	}
	if level := l.level(); l.options.Log.Enabled(l.context, level) {
		l.options.Log.LogAttrs(l.context, level, "request", l.attrs(response)...)
	}
}

// level is that of debugging for health checks, which come every few seconds.
func (l *Line) level() slog.Level {
	if l.route == "GET /health" || l.route == "GET /health/live" {
		return slog.LevelDebug
	}
	return l.options.Level
}

func (l *Line) attrs(response Response) []slog.Attr {
	attrs := []slog.Attr{slog.String("method", core.Excerpt(l.method)), slog.String("route", l.routeOf(response.Status)), slog.String("request", l.ID())}
	for _, a := range []struct{ name, value string }{
		{"invocation", l.invocation}, {"tenant", l.tenant}, {"thread", l.thread}, {"run", l.run}, {"trigger", l.from},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, core.Excerpt(a.value)))
		}
	}
	attrs = append(attrs, slog.Int("status", response.Status), slog.Int64("ms", l.options.Env.Now().Sub(l.began).Milliseconds()), slog.Int64("bytes", response.Bytes))
	if response.Stream {
		attrs = append(attrs, slog.String("stream", string(l.endingOf(response))))
	}
	if response.Aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	return attrs
}

func (l *Line) routeOf(status int) string {
	switch {
	case l.route != "":
		return l.route
	case l.mount != "" && status != http.StatusNotFound && status != http.StatusMethodNotAllowed:
		return l.mount
	}
	return Unmatched
}

// endingOf is the ending that the writer of the stream has set. A library's stream sets none.
func (l *Line) endingOf(response Response) Ending {
	switch {
	case response.Aborted: // after what its writer has set
		return Failed
	case l.ending != "":
		return l.ending
	case response.Left:
		return ClientLeft
	}
	return Ended
}
