package host

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	// maxRequestBody is API Gateway's limit of a body. That of a Function URL is maxEvent.
	maxRequestBody = 10 << 20
	// maxEvent is Lambda's limit of a synchronous event, with the body in it.
	maxEvent = 6 << 20
)

// Front is an HTTP front end of AWS.
type Front struct {
	Function string // required
	Shape    Shape  // default: ShapeURL
	// Authorizer is put into each event as requestContext.authorizer, as if one
	// had verified the request. nil: none.
	Authorizer json.RawMessage
}

// Handler serves HTTP requests by invoking a function. Streamed data is passed on immediately.
// If a stream breaks off, the response breaks off too, and the client's read fails. A function
// that fails before it responds is a 502, or a 504 after its timeout.
func (h *Host) Handler(f Front) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
		if err != nil {
			message(w, http.StatusRequestEntityTooLarge, "Request Too Long")
			return
		}
		event, err := f.event(r, body)
		if err != nil {
			message(w, http.StatusBadRequest, err.Error())
			return
		}
		if len(event) > maxEvent {
			message(w, http.StatusRequestEntityTooLarge, "Request Too Long")
			return
		}
		response, err := h.Stream(r.Context(), f.Function, event)
		if err != nil {
			h.log.Warn("invocation failed", "function", f.Function, "error", err)
			message(w, statusOf(err), "Internal Server Error")
			return
		}
		defer response.Body.Close()
		if response.Prelude != nil {
			writePrelude(w, response.Prelude)
			h.forward(w, response.Body, f.Function)
			return
		}
		h.writeBuffered(w, response.Body, f)
	})
}

func statusOf(err error) int {
	var failure *FunctionError
	switch {
	case errors.As(err, &failure) && failure.Type == "Sandbox.Timedout":
		return http.StatusGatewayTimeout
	case errors.Is(err, ErrUnknownFunction):
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

func writePrelude(w http.ResponseWriter, p *Prelude) {
	header := w.Header()
	for name, value := range p.Headers {
		header.Set(name, value)
	}
	for name, values := range p.MultiValueHeaders {
		header.Del(name)
		for _, value := range values {
			header.Add(name, value)
		}
	}
	for _, cookie := range p.Cookies {
		header.Add("Set-Cookie", cookie)
	}
	w.WriteHeader(p.StatusCode)
	_ = http.NewResponseController(w).Flush()
}

// forward passes each piece on at once.
func (h *Host) forward(w http.ResponseWriter, body io.Reader, function string) {
	controller := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return // the client is gone
			}
			_ = controller.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			h.log.Warn("streamed response broke off", "function", function, "error", err)
			panic(http.ErrAbortHandler) // net/http closes the connection without the last chunk
		}
	}
}

// bufferedResponse is what a function returns to API Gateway as JSON.
type bufferedResponse struct {
	Prelude
	Body            string `json:"body"`
	IsBase64Encoded bool   `json:"isBase64Encoded"`
}

func (h *Host) writeBuffered(w http.ResponseWriter, payload io.Reader, f Front) {
	response, body, err := readBuffered(payload, f.Shape)
	if err != nil {
		h.log.Warn("malformed response", "function", f.Function, "error", err)
		message(w, http.StatusBadGateway, "Internal Server Error")
		return
	}
	writePrelude(w, &response.Prelude)
	_, _ = w.Write(body)
}

func readBuffered(payload io.Reader, shape Shape) (bufferedResponse, []byte, error) {
	data, err := io.ReadAll(payload)
	if err != nil {
		return bufferedResponse{}, nil, err
	}
	var response bufferedResponse
	err = json.Unmarshal(data, &response)
	if (err != nil || response.StatusCode == 0) && shape != ShapeREST {
		// Payload format 2.0 takes anything else for the body of a 200.
		return bufferedResponse{Prelude: Prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "application/json"}}}, data, nil
	}
	if err != nil {
		return bufferedResponse{}, nil, err
	}
	if response.StatusCode == 0 {
		return bufferedResponse{}, nil, errors.New("the response has no statusCode")
	}
	body := []byte(response.Body)
	if response.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(response.Body); err != nil {
			return bufferedResponse{}, nil, fmt.Errorf("body: %w", err)
		}
	}
	return response, body, nil
}
