package host

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
)

// FunctionError is a failure of a function, as opposed to a failure of the host.
type FunctionError struct {
	// Type is the type that the function reported, or one of Lambda's types:
	// "Runtime.ExitError" (the process ended), "Sandbox.Timedout",
	// "Runtime.NoResponse" (it requested the next event without a response),
	// "Runtime.InvalidPrelude", "Function.ResponseSizeTooLarge"; or
	// "Host.Closed".
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error implements error.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Response is a response that the function may still be sending.
type Response struct {
	RequestID   string
	ContentType string   // as the function named it to the Runtime API
	Prelude     *Prelude // nil unless the function streams an HTTP response
	// Body is the JSON, or the HTTP body. It ends with io.EOF or, if the response is
	// truncated, a [*FunctionError]. A function that streams waits for its reader.
	// Closing the body discards the rest.
	Body io.ReadCloser
}

// invocation is one event on its way through a sandbox.
type invocation struct {
	id      string
	payload []byte

	mu        sync.Mutex
	claimed   bool          // a response has started; the first one counts
	abandoned bool          // no caller needs the response
	responded chan struct{} // closed when response or err is set
	response  *Response
	err       error
	left      chan struct{} // closed when its sandbox is done with it
	leaveOnce sync.Once
	over      chan struct{} // closed when, after that, the sandbox can be used again
}

func newInvocation(payload []byte) *invocation {
	return &invocation{
		id: newRequestID(), payload: payload,
		responded: make(chan struct{}), left: make(chan struct{}), over: make(chan struct{}),
	}
}

// claim reports whether the caller is the one to respond.
func (i *invocation) claim() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.claimed {
		return false
	}
	i.claimed = true
	return true
}

// respond must be called at most once, by the caller that has claimed.
func (i *invocation) respond(r *Response, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r != nil {
		r.RequestID = i.id
		if i.abandoned {
			_ = r.Body.Close()
		}
	}
	i.response, i.err = r, err
	close(i.responded)
}

// fail responds with an error unless a response has already started.
func (i *invocation) fail(err error) {
	if i.claim() {
		i.respond(nil, err)
	}
}

// abandon throws the response away, now or when it comes.
func (i *invocation) abandon() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.abandoned = true
	if i.response != nil {
		_ = i.response.Body.Close()
	}
}

func (i *invocation) leave() { i.leaveOnce.Do(func() { close(i.left) }) }

// newRequestID returns a random UUID.
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
