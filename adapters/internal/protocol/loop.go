package protocol

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// portion is how many bytes one write has, so that a reader which is slow but
	// takes something within [Stall] is not taken for one that takes nothing.
	portion = 32 << 10
	// usual is room for the frames of a few events.
	usual = 4 << 10
	// keep is the largest buffer that a stream holds on to while it is silent.
	keep = 64 << 10
)

// buffers are the two of a stream: the backlog, and the batch that is written. A stream
// returns them when While is over, and nothing reads them any more; those of a stream whose
// backlog was large are left to the collector.
type buffers struct{ backlog, batch []byte }

var unused = sync.Pool{New: func() any { return new(buffers) }}

// borrow gives the stream its buffers, unless a frame came before.
func (w *Writer) borrow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffers = unused.Get().(*buffers)
	if w.backlog == nil {
		w.backlog = w.buffers.backlog[:0]
	}
}

// giveBack ends the use of the buffers; the loop is over.
func (w *Writer) giveBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffers.backlog, w.backlog = w.backlog, nil
	if max(cap(w.buffers.backlog), cap(w.buffers.batch)) <= keep {
		unused.Put(w.buffers)
	}
	w.buffers = nil
}

// keepAlive is the heartbeat: a comment, which clients ignore.
const keepAlive = ": keep-alive\n\n"

// loop writes the backlog out until the stream is over. It is the only one that writes to
// the response. Two buffers alternate: while one is written, frames gather in the other.
// done ends the heartbeats. It ends with an error of the response, or with any other
// error that has ended the stream. Before it waits, it has set idle under the lock (in
// swap), so that no frame can arrive between the check and the wait without a signal.
func (w *Writer) loop(done <-chan struct{}) error {
	silence := time.NewTimer(Heartbeat)
	defer silence.Stop()
	batch := w.buffers.batch
	defer func() { w.buffers.batch = batch }() // While waits for the loop
	sent := false
	for {
		var over bool
		if batch, over = w.swap(batch); over {
			return nil
		}
		if len(batch) > 0 {
			if !sent { // not before: until now the response may still become a refusal
				maps.Copy(w.response.Header(), everyStream)
				maps.Copy(w.response.Header(), w.header)
				w.response.WriteHeader(http.StatusOK)
				sent = true
			}
			if err := w.writeOut(batch); err != nil {
				return err
			}
			silence.Reset(Heartbeat)
			continue
		}
		select {
		case <-w.wake:
		case <-silence.C:
			if done != nil {
				w.beat()
			}
		case <-done: // no more heartbeats for a client that has gone; the source's last frames still go out
			done = nil
		}
	}
}

// swap exchanges the backlog for an empty buffer. over reports that there is nothing to
// write and never will be. With neither, the loop has to wait for a signal.
func (w *Writer) swap(empty []byte) (batch []byte, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if empty = empty[:0]; cap(empty) > keep { // one large frame must not cost every idle stream its memory
		empty = nil
	}
	batch, w.backlog = w.backlog, empty
	w.writing = len(batch)
	over = len(batch) == 0 && w.closed || w.err != nil
	w.idle = len(batch) == 0 && !over
	return batch, over
}

// beat adds a heartbeat to an empty backlog. The loop does not wait here: it has
// noticed by itself that there is something to write.
func (w *Writer) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && len(w.backlog) == 0 { // nor is there an error: nothing was under way
		w.started = true
		w.backlog = append(w.backlog, keepAlive...)
	}
}

// writeOut writes a batch and flushes once. It holds no lock while it writes: frames
// gather for the next batch. Each portion has its own deadline, so that a reader counts
// as slow only if it takes nothing, however much there is.
func (w *Writer) writeOut(batch []byte) error {
	for len(batch) > 0 {
		if err := w.arm(); err != nil {
			return err
		}
		n, err := w.response.Write(batch[:min(len(batch), portion)])
		if err != nil {
			return err
		}
		w.gone(n)
		batch = batch[n:]
	}
	return w.flush()
}

// arm gives the next write its deadline, or returns the error that ended the stream. Both
// are under the lock: abandon sets err and the past deadline together, so that it finds
// either no write yet, which sees err here, or one under way, which its deadline ends.
func (w *Writer) arm() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	deadline := w.now().Add(Stall)
	if w.closed {
		deadline = w.end // at most Stall from now
	}
	_ = w.control.SetWriteDeadline(deadline) // a transport without deadlines has none
	return nil
}

// gone notes that n bytes have left, for Ready and for MaxBacklog.
func (w *Writer) gone(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing -= n
	w.signalRoom()
}
