package protocol

import (
	"maps"
	"net/http"
	"time"
)

const (
	// portion is how many bytes one write has, so that a reader which is slow but
	// takes something within [Stall] is not taken for one that takes nothing.
	portion = 32 << 10
	// keep is the largest buffer that a stream holds on to while it is silent.
	keep = 64 << 10
)

// keepAlive is the heartbeat: a comment, which clients ignore.
const keepAlive = ": keep-alive\n\n"

// loop writes the backlog out until the stream is over. It is the only one that
// writes to the response. Two buffers change places: while one is written, frames
// gather in the other. done ends the heartbeats.
func (w *Writer) loop(done <-chan struct{}) error {
	silence := time.NewTimer(Heartbeat)
	defer silence.Stop()
	var batch []byte
	sent := false
	for {
		var over bool
		if batch, over = w.take(batch); over {
			return nil
		}
		if len(batch) > 0 {
			if !sent {
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
		case <-done:
			done = nil
		}
	}
}

// take changes the backlog for an empty buffer. over says that there is nothing
// to write and never will be. With neither, the loop has to wait for a signal.
func (w *Writer) take(empty []byte) (batch []byte, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cap(empty) > keep {
		empty = nil
	}
	batch, w.backlog = w.backlog, empty[:0]
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

// writeOut writes a batch and flushes once.
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

// arm gives the next write its deadline, or returns why there is none any more.
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

// gone notes that n bytes have left.
func (w *Writer) gone(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing -= n
	w.tellRoom()
}
