package wire

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

// patience calls a function when one wait for the server takes longer than the limit.
// Time between waits, which is the consumer's or the key's source's, does not count.
type patience struct {
	limit time.Duration
	timer *time.Timer
}

func newPatience(limit time.Duration, end func()) *patience {
	timer := time.AfterFunc(limit, end)
	timer.Stop()
	return &patience{limit: limit, timer: timer}
}

// begin starts a wait, which stop ends.
func (p *patience) begin() { p.timer.Reset(p.limit) }

func (p *patience) stop() { p.timer.Stop() }

// idleReader reads a response body, each read with the same patience.
type idleReader struct {
	body     io.ReadCloser
	patience *patience
}

// Read implements io.Reader.
func (r *idleReader) Read(p []byte) (int, error) {
	r.patience.begin()
	defer r.patience.stop()
	return r.body.Read(p)
}

// drain reads what is left of a complete turn.
func (r *idleReader) drain() {
	r.patience.limit = min(r.patience.limit, drainTime)
	_, _ = io.CopyN(io.Discard, r, drainBytes) // a failure costs the connection, nothing else
}

// Close stops the timer and closes the body.
func (r *idleReader) Close() error {
	r.patience.stop()
	return r.body.Close()
}
