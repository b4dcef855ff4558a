package modelwire

import (
	"io"
	"time"
)

// After the end of a turn the rest of the body (the end of the chunked
// encoding) is read, so that the connection can serve the next request; but not
// for long, since a server may hold it open.
const (
	drainBytes = 4096
	drainTime  = 250 * time.Millisecond
)

// idleReader reads a response body and calls cancel when one read takes longer
// than the limit. Time that the consumer spends between reads does not count.
type idleReader struct {
	body  io.ReadCloser
	limit time.Duration
	timer *time.Timer
}

func newIdleReader(body io.ReadCloser, limit time.Duration, cancel func()) *idleReader {
	timer := time.AfterFunc(limit, cancel)
	timer.Stop()
	return &idleReader{body: body, limit: limit, timer: timer}
}

// Read implements io.Reader.
func (r *idleReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit)
	defer r.timer.Stop()
	return r.body.Read(p)
}

// drain reads what is left of a complete turn.
func (r *idleReader) drain() {
	r.limit = min(r.limit, drainTime)
	_, _ = io.CopyN(io.Discard, r, drainBytes) // a failure costs the connection, nothing else
}

// Close stops the timer and closes the body.
func (r *idleReader) Close() error {
	r.timer.Stop()
	return r.body.Close()
}
