package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// Stream returns a handler that serves an http.Handler behind a Function URL with invoke
// mode RESPONSE_STREAM (payload format 2.0) or an API Gateway REST API with response
// transfer mode STREAM (1.0). It detects the format from the event. Its result is a
// *events.LambdaFunctionURLStreamingResponse or a
// *events.APIGatewayProxyStreamingResponse: pointers, since the values would be encoded
// as JSON. An event that is not an HTTP request is an error.
//
// The status and header leave with the first body byte or Flush, later bytes as they are
// written, at most 64 KiB ahead of the client. A write that waits for the client ends at
// the deadline that http.ResponseController sets. The http.Handler runs in a separate
// goroutine. The runtime client calls the result's Close before it asks for the next
// event, and Close waits for the http.Handler even if the client has disconnected: AWS
// does not report that a client goes away, and a disconnect does not cancel a run.
//
// A stream that ends early never looks complete. If the http.Handler panics before the
// response started, the client gets a 500 with {"error", "code"}. If it panics later, an
// event stream gets an error event, and every stream ends with a read error, which the
// runtime client reports in its trailers and the front end turns into a broken response.
// The same happens (with 504) if the http.Handler is not done when half of the reserve
// remains before the invocation's deadline.
//
// Each request logs one line, as with [Handlers.Buffered], when its response has ended.
//
// If a response may have a body but has none, its body is a single newline: Function URLs
// let clients wait for the first byte of an empty stream, in some accounts for minutes.
func (h Handlers) Stream(handler http.Handler) func(context.Context, json.RawMessage) (any, error) {
	o := h.withDefaults(defaultHTTPReserve)
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		now := o.Env.Now()
		requestCtx, cancel := endBefore(ctx, now, o.Reserve)
		x, err := o.newExchange(requestCtx, payload, doorURL, handler)
		if err != nil {
			cancel()
			return nil, err
		}
		s := &stream{exchange: x, log: o.Logger, pipe: newPipe(), started: make(chan struct{}), done: make(chan struct{})}
		s.writer = newResponseWriter(s, x)
		lastCall, cancelLastCall := endBefore(ctx, now, o.Reserve/2)
		timedOut := make(chan struct{})
		keep := context.AfterFunc(lastCall, func() {
			defer close(timedOut)
			s.fail(http.StatusGatewayTimeout, errTimeout)
		})
		go s.run(func() {
			if !keep() {
				<-timedOut
			}
			cancelLastCall()
			cancel()
		})
		<-s.started
		return s.response(), nil
	}
}

// stream is the response of one invocation on its way.
type stream struct {
	exchange
	log    *slog.Logger
	pipe   *pipe
	writer *responseWriter

	started chan struct{} // closed by start
	status  int           // before started is closed, as header
	header  http.Header
	tail    [2]byte // the last bytes written, guarded by writer
	done    chan struct{}
}

// run serves the request; release is called when the handler has returned.
func (s *stream) run(release func()) {
	err := errors.New("handler: its goroutine exited")
	defer close(s.done)
	defer func() { // after the end of the response, and before that of the invocation
		response := s.writer.response()
		response.Aborted = response.Aborted || err != nil
		s.line.End(response)
	}()
	defer func() {
		release()
		if err != nil {
			s.fail(http.StatusInternalServerError, errInternal)
			return
		}
		if s.pipe.stalled() { // what was written is not whole, and must not look so
			s.pipe.finish(nil, messages.InvokeResponse_Error{Type: "Reveille.BrokenStream", Message: "the client took nothing in time"})
			return
		}
		s.writer.finish([]byte("\n"))
		s.pipe.finish(nil, io.EOF)
	}()
	err = s.serve(s.writer, s.log)
}

// fail ends the stream in a way that no client takes for its end.
func (s *stream) fail(status int, cause error) {
	s.pipe.refuse(cause) // a handler that blocks in Write holds the writer
	if s.writer.abandon(status, cause) {
		var body []byte
		if s.request.Method != http.MethodHead {
			body = errorBody(cause)
		}
		s.writer.add(len(body))
		s.pipe.finish(body, io.EOF)
		return
	}
	var last []byte
	if isEventStream(s.header) {
		last = s.errorEvent(cause)
		s.writer.add(len(last))
	}
	s.pipe.finish(last, messages.InvokeResponse_Error{Type: "Reveille.BrokenStream", Message: cause.Error()})
}

// errorEvent ends a half-written event first, so that the error is one of its
// own.
func (s *stream) errorEvent(cause error) []byte {
	var event bytes.Buffer
	if s.tail != [2]byte{} && s.tail != [2]byte{'\n', '\n'} {
		event.WriteString("\n\n")
	}
	event.WriteString("event: error\ndata: ")
	event.Write(errorBody(cause))
	event.WriteString("\n\n")
	return event.Bytes()
}

func (s *stream) start(status int, header http.Header) {
	s.status, s.header = status, header
	close(s.started)
}

func (s *stream) write(p []byte) (int, error) {
	n, err := s.pipe.write(p)
	for _, c := range p[max(0, n-len(s.tail)):n] {
		s.tail = [2]byte{s.tail[1], c}
	}
	return n, err
}

// setDeadline implements deadliner.
func (s *stream) setDeadline(until time.Time) { s.pipe.setDeadline(until) }

// Read implements io.Reader for the runtime client.
func (s *stream) Read(p []byte) (int, error) { return s.pipe.Read(p) }

// Close implements io.Closer: it waits for the handler.
func (s *stream) Close() error {
	s.pipe.leave()
	<-s.done
	return nil
}

func (s *stream) response() any {
	header := s.header.Clone()
	for _, name := range hopByHop {
		header.Del(name)
	}
	cookies := header["Set-Cookie"]
	delete(header, "Set-Cookie")
	if s.event.v2() {
		response := &events.LambdaFunctionURLStreamingResponse{StatusCode: s.status, Headers: map[string]string{}, Cookies: cookies, Body: s}
		for name, values := range header {
			response.Headers[name] = strings.Join(values, ", ")
		}
		return response
	}
	response := &events.APIGatewayProxyStreamingResponse{StatusCode: s.status, Headers: map[string]string{}, MultiValueHeaders: map[string][]string{}, Cookies: cookies, Body: s}
	for name, values := range header {
		if len(values) == 1 {
			response.Headers[name] = values[0]
		} else if len(values) > 1 {
			response.MultiValueHeaders[name] = values
		}
	}
	return response
}

// hopByHop are the headers that belong to a connection, which the front end
// owns.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func isEventStream(header http.Header) bool {
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return mediaType == "text/event-stream"
}
