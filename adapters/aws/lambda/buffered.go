package lambda

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// Buffered returns a handler that serves an http.Handler behind an API Gateway REST API
// (payload format 1.0) or HTTP API (2.0). It detects the format from the event. Its
// result is an events.APIGatewayProxyResponse or an events.APIGatewayV2HTTPResponse. If
// the http.Handler panics, the response is a 500 with {"error", "code"}. An event that is
// not an HTTP request is an error.
//
// AWS limits a buffered response to 6 MB, and API Gateway limits its time to 30 s.
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
		serve := func(w http.ResponseWriter, _ *http.Request) {
			writer := newResponseWriter(bufferedResponse{w}, x.request)
			broke = x.serve(writer, o.Logger)
			writer.finish(nil)
		}
		response, err := proxy(ctx, x.event, http.HandlerFunc(serve))
		if broke != nil { // the partial response is discarded
			return proxy(ctx, x.event, http.HandlerFunc(respondInternal))
		}
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

func respondInternal(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write(errorBody(errInternal))
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
