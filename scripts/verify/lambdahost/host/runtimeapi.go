package host

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The Lambda Runtime API, version 2018-06-01.
const (
	runtimePath = "/2018-06-01/runtime"

	headerRequestID   = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline    = "Lambda-Runtime-Deadline-Ms"
	headerFunctionARN = "Lambda-Runtime-Invoked-Function-Arn"
	headerTraceID     = "Lambda-Runtime-Trace-Id"
	headerErrorType   = "Lambda-Runtime-Function-Error-Type" // also a trailer
	trailerErrorBody  = "Lambda-Runtime-Function-Error-Body" // base64 of JSON

	// contentTypeHTTP marks an HTTP response that is streamed. The Go client never
	// sends Lambda-Runtime-Function-Response-Mode, so the type decides.
	contentTypeHTTP = "application/vnd.awslambda.http-integration-response"

	maxPayload = 6 << 20 // of a buffered response
)

func (s *sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+runtimePath+"/invocation/next", s.handleNext)
	mux.HandleFunc("POST "+runtimePath+"/invocation/{id}/response", s.handleResponse)
	mux.HandleFunc("POST "+runtimePath+"/invocation/{id}/error", s.handleError)
	mux.HandleFunc("POST "+runtimePath+"/init/error", s.handleInitError)
	return mux
}

func (s *sandbox) handleNext(w http.ResponseWriter, r *http.Request) {
	s.arrived()
	var inv *invocation
	select {
	case inv = <-s.next:
	case <-r.Context().Done(): // the process is gone
		return
	}
	deadline := s.begin(inv)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set(headerRequestID, inv.id)
	header.Set(headerDeadline, strconv.FormatInt(deadline.UnixMilli(), 10))
	header.Set(headerFunctionARN, s.function.arn())
	header.Set(headerTraceID, traceID(inv.id))
	_, _ = w.Write(inv.payload)
}

// traceID derives an X-Ray id from the request id, so that both name each other.
func traceID(requestID string) string {
	digits := strings.ReplaceAll(requestID, "-", "")
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", time.Now().Unix(), digits[:24], digits[16:])
}

func (s *sandbox) handleResponse(w http.ResponseWriter, r *http.Request) {
	inv := s.running(r.PathValue("id"))
	if inv == nil || !inv.claim() {
		refuse(w, "InvalidRequestID", "no such invocation waits for a response")
		return
	}
	contentType := r.Header.Get("Content-Type")
	if contentType == contentTypeHTTP {
		s.streamResponse(inv, contentType, r)
		accept(w)
		return
	}
	payload, err := io.ReadAll(io.LimitReader(r.Body, maxPayload+1))
	if err != nil {
		inv.respond(nil, s.brokenOff())
		return
	}
	if len(payload) > maxPayload {
		inv.respond(nil, &FunctionError{Type: "Function.ResponseSizeTooLarge", Message: fmt.Sprintf("the response is over %d bytes", maxPayload)})
		refuse(w, "RequestEntityTooLarge", "the response is too large")
		return
	}
	if failure := trailerError(r.Trailer); failure != nil {
		inv.respond(nil, failure)
	} else {
		inv.respond(&Response{ContentType: contentType, Body: io.NopCloser(strings.NewReader(string(payload)))}, nil)
	}
	accept(w)
}

// streamResponse forwards an HTTP response piece by piece. Without a reader, it continues
// to read: a function does not detect that its client has disconnected.
func (s *sandbox) streamResponse(inv *invocation, contentType string, r *http.Request) {
	body := bufio.NewReaderSize(r.Body, 32<<10)
	prelude, err := readPrelude(body)
	if errors.Is(err, errPrelude) {
		_, _ = io.Copy(io.Discard, body)
		failure := trailerError(r.Trailer)
		if failure == nil {
			failure = &FunctionError{Type: "Runtime.InvalidPrelude", Message: err.Error()}
		}
		inv.respond(nil, failure)
		return
	}
	if err != nil {
		inv.respond(nil, s.brokenOff())
		return
	}
	reader, writer := io.Pipe()
	inv.respond(&Response{ContentType: contentType, Prelude: prelude, Body: reader}, nil)
	if _, err = io.Copy(tolerant{writer}, body); err != nil {
		_ = writer.CloseWithError(s.brokenOff())
		return
	}
	if failure := trailerError(r.Trailer); failure != nil {
		_ = writer.CloseWithError(failure)
		return
	}
	_ = writer.Close()
}

// tolerant continues without its reader.
type tolerant struct{ w io.Writer }

func (t tolerant) Write(p []byte) (int, error) {
	_, _ = t.w.Write(p)
	return len(p), nil
}

// brokenOff says why a response stopped in the middle: the process has ended, or
// will be killed at its deadline.
func (s *sandbox) brokenOff() *FunctionError {
	<-s.exited
	return s.exitErr
}

func trailerError(trailer http.Header) *FunctionError {
	kind := trailer.Get(headerErrorType)
	if kind == "" {
		return nil
	}
	failure := &FunctionError{}
	body, _ := base64.StdEncoding.DecodeString(trailer.Get(trailerErrorBody))
	_ = json.Unmarshal(body, failure)
	failure.Type = kind
	return failure
}

func (s *sandbox) handleError(w http.ResponseWriter, r *http.Request) {
	inv := s.running(r.PathValue("id"))
	if inv == nil || !inv.claim() {
		refuse(w, "InvalidRequestID", "no such invocation waits for a response")
		return
	}
	inv.respond(nil, reportedError(r))
	accept(w)
}

func (s *sandbox) handleInitError(w http.ResponseWriter, r *http.Request) {
	failure := reportedError(r)
	s.mu.Lock()
	if s.cause == nil {
		s.cause = failure // the process exits by itself
	}
	s.mu.Unlock()
	accept(w)
}

func reportedError(r *http.Request) *FunctionError {
	failure := &FunctionError{}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxPayload))
	if json.Unmarshal(body, failure) != nil {
		failure.Message = string(body)
	}
	if failure.Type == "" {
		failure.Type = r.Header.Get(headerErrorType)
	}
	if failure.Type == "" {
		failure.Type = "Unhandled"
	}
	return failure
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "{\"status\":\"OK\"}\n")
}

func refuse(w http.ResponseWriter, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(FunctionError{Type: kind, Message: message})
}
