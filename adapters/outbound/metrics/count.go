package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// methods are those that are counted by name; a client may send any word.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// Count returns a handler that counts the requests of next, and the streams that it has
// open.
func (m *Metrics) Count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &counted{ResponseWriter: w, metrics: m}
		defer counted.end(r.Method) // a handler that cuts its connection panics
		next.ServeHTTP(counted, r)
	})
}

// counted is a response that notes its status, and whether it is a stream.
type counted struct {
	http.ResponseWriter
	metrics *Metrics
	status  int
	stream  bool
}

// end counts the request.
func (c *counted) end(method string) {
	if !slices.Contains(methods, method) {
		method = otherValue
	}
	if c.status == 0 {
		c.status = http.StatusOK // as net/http has it
	}
	if c.stream {
		c.metrics.streams.Dec()
	}
	c.metrics.requests.add(1, method, strconv.Itoa(c.status))
}

// Unwrap gives http.ResponseController what the writer can do.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(status int) {
	c.begin(status)
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *counted) Write(b []byte) (int, error) {
	c.begin(http.StatusOK)
	return c.ResponseWriter.Write(b)
}

// begin records the first status that is not an interim one.
func (c *counted) begin(status int) {
	if c.status != 0 || status < 200 {
		return
	}
	c.status = status
	if strings.HasPrefix(c.Header().Get("Content-Type"), "text/event-stream") {
		c.stream = true
		c.metrics.streams.Inc()
	}
}
