package lambda

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
)

// Buffered returns a handler that serves an http.Handler behind an API Gateway REST API
// (payload format 1.0) or HTTP API (2.0). It detects the format from the event. Its
// result is an events.APIGatewayProxyResponse or an events.APIGatewayV2HTTPResponse. If
// the http.Handler panics, the response is a 500 with {"error", "code"}. An event that is
// not an HTTP request is an error.
//
// AWS limits a buffered response to 6 MB, and API Gateway limits its time to 30 s.
//
// Each request logs one line "request" at level info, those of health checks at level debug.
// The header X-Request-Id of its response is the attribute request of the line.
func (h Handlers) Buffered(handler http.Handler) func(context.Context, json.RawMessage) (any, error) {
	o := h.withDefaults(defaultHTTPReserve)
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		ctx, cancel := endBefore(ctx, o.Env.Now(), o.Reserve)
		defer cancel()
		x, err := o.newExchange(ctx, payload, doorHTTP, handler)
		if err != nil {
			return nil, err
		}
		var broke error
		var writer *responseWriter
		serve := func(w http.ResponseWriter, _ *http.Request) {
			writer = newResponseWriter(bufferedResponse{w}, x)
			broke = x.serve(writer, o.Logger)
			writer.finish(nil)
		}
		response, err := proxy(ctx, x.event, http.HandlerFunc(serve))
		if broke != nil { // the partial response is discarded
			internal := errorBody(errInternal)
			x.line.End(requestlog.Response{Status: http.StatusInternalServerError, Bytes: int64(len(internal)), Aborted: true})
			return proxy(ctx, x.event, respondInternal(x.line.ID(), internal))
		}
		x.line.End(writer.response())
		return response, err
	}
}

// proxy is all that we use of aws-lambda-go-api-proxy: it collects what a
// handler responds and encodes that for API Gateway. The request is ours, the same
// as for a stream: the library's splits headers at commas, so that a handler
// sees only the first type of an Accept header, and cannot read every path.
func proxy(ctx context.Context, e *httpEvent, h http.Handler) (any, error) {
	if e.v2() {
		var event events.APIGatewayV2HTTPRequest
		event.RequestContext.HTTP.Method = http.MethodGet
		return httpadapter.NewV2(h).ProxyWithContext(ctx, event)
	}
	return httpadapter.New(h).ProxyWithContext(ctx, events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet})
}

func respondInternal(id string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(requestlog.Header, id)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(body)
	})
}

// bufferedResponse gives the library a header that can no longer change.
type bufferedResponse struct{ w http.ResponseWriter }

func (a bufferedResponse) start(status int, header http.Header) {
	for name, values := range header {
		a.w.Header()[name] = values
	}
	a.w.WriteHeader(status)
}

func (a bufferedResponse) write(p []byte) (int, error) { return a.w.Write(p) }
