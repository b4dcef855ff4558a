package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// exchange is one HTTP request out of an event, and who responds to it.
type exchange struct {
	event   *httpEvent
	request *http.Request
	handler http.Handler // the user's, or one that refuses a malformed request
	line    *requestlog.Line
}

// newExchange returns an error only if the payload is not an HTTP event, which no HTTP
// client can cause. v2 is the front end of events in payload format 2.0.
func (h Handlers) newExchange(ctx context.Context, payload json.RawMessage, v2 door, handler http.Handler) (exchange, error) {
	event, err := readHTTPEvent(payload, v2)
	if err != nil {
		return exchange{}, err
	}
	ctx = context.WithValue(ctx, doorKey{}, event.door())
	if c := event.caller(); c != nil {
		ctx = caller.With(ctx, c)
	}
	request, err := event.request(ctx)
	if err != nil {
		h.Logger.WarnContext(ctx, "malformed HTTP event", "error", err)
		request, _ = http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		handler = refuse(err)
	}
	request, line := requestlog.Start(request, requestlog.Options{Log: h.Logger, Env: h.Env}, event.RequestContext.RequestID, invocation(ctx))
	return exchange{event: event, request: request, handler: handler, line: line}, nil
}

// invocation is the id of the invocation, as Lambda's own log lines have it.
func invocation(ctx context.Context) string {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		return c.AwsRequestID
	}
	return ""
}

func refuse(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(errorBody(err))
	})
}

// errorBody is the body of every HTTP error.
func errorBody(err error) []byte {
	body, _ := json.Marshal(struct {
		Error string    `json:"error"`
		Code  core.Code `json:"code"`
	}{err.Error(), core.CodeOf(err)})
	return body
}

// The errors that a client sees when a handler breaks; they tell nothing about
// the cause, which is logged.
var (
	errInternal = core.Errorf(core.CodeInternal, "internal error")
	errTimeout  = core.Errorf(core.CodeUnavailable, "no response in time")
)

// serve calls the handler. A panic, or a runtime.Goexit, becomes an error, which
// is logged; http.ErrAbortHandler becomes one silently, as in net/http.
func (x exchange) serve(w http.ResponseWriter, log *slog.Logger) error {
	err := errors.New("handler: its goroutine exited")
	defer func() {
		if err != nil && !errors.Is(err, http.ErrAbortHandler) {
			attrs := append([]any{"method", x.request.Method, "path", x.request.URL.Path}, errorAttrs(err)...)
			log.ErrorContext(x.request.Context(), "HTTP handler failed", attrs...)
		}
	}()
	err = env.Protect(func() error {
		x.handler.ServeHTTP(w, x.request)
		return nil
	})
	var p *env.PanicError
	if errors.As(err, &p) && p.Value == http.ErrAbortHandler {
		err = http.ErrAbortHandler
	}
	return err
}
