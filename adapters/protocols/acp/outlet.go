package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
)

// nearly is the number of bytes that a reader may lag and still be called ready.
const nearly = 64 << 10

// outlet writes lines to a client from a separate goroutine, so that a client that reads
// slowly, or not at all, never delays a run. A client that lags by more than
// [protocol.MaxBacklog] bytes is dropped: later writes are errors.
type outlet struct {
	out io.Writer

	mu      sync.Mutex
	backlog []byte
	writing int           // bytes that have left the backlog, and not yet this process
	err     error         // why nothing is written any more
	owed    int           // requests of the client that have no response yet
	closed  bool          // nothing comes any more
	changed chan struct{} // closed, and replaced, when any of the above changes
}

func newOutlet(out io.Writer) *outlet { return &outlet{out: out, changed: make(chan struct{})} }

// Write implements io.Writer. It does not wait.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if behind := o.writing + len(o.backlog); o.err == nil && behind > 0 && behind+len(p) > protocol.MaxBacklog {
		o.err = protocol.ErrSlow
		o.signal()
	}
	if o.err != nil {
		return 0, o.err
	}
	if o.owed > 0 && isResponse(p) {
		o.owed--
	}
	o.backlog = append(o.backlog, p...)
	o.signal()
	return len(p), nil
}

// notification is how the library begins one: nearly all that is written.
var notification = []byte(`{"jsonrpc":"2.0","method":`)

// isResponse reports whether a line answers a request.
func isResponse(line []byte) bool {
	var e envelope
	return !bytes.HasPrefix(line, notification) && json.Unmarshal(line, &e) == nil && e.Method == ""
}

// owe notes that a response is to come.
func (o *outlet) owe() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owed++
}

// signal wakes those who wait for a change. The caller holds the lock.
func (o *outlet) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// run writes until the outlet is closed and empty, or a write has failed.
func (o *outlet) run() {
	for {
		o.mu.Lock()
		batch, over, changed := o.backlog, o.closed || o.err != nil, o.changed
		o.backlog, o.writing = nil, len(batch)
		o.mu.Unlock()
		if len(batch) > 0 {
			_, err := o.out.Write(batch)
			o.mu.Lock()
			if o.writing = 0; o.err == nil {
				o.err = err
			}
			o.signal()
			o.mu.Unlock()
			continue
		}
		if over {
			return
		}
		<-changed
	}
}

// ready returns when the client has taken nearly everything.
func (o *outlet) ready(ctx context.Context) error {
	return o.await(ctx, func() bool { return o.writing+len(o.backlog) <= nearly })
}

// settled returns when every request has its response, and all of them have left.
func (o *outlet) settled(ctx context.Context) error {
	return o.await(ctx, func() bool { return o.owed == 0 && o.writing+len(o.backlog) == 0 })
}

// await returns when the condition holds, which is asked under the lock.
func (o *outlet) await(ctx context.Context, holds func() bool) error {
	for {
		o.mu.Lock()
		err, done, changed := o.err, holds(), o.changed
		o.mu.Unlock()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// end records that no more lines follow. Remaining lines are still written.
func (o *outlet) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signal()
}
