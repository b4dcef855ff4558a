package lambda

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// pipeLimit is how many bytes a handler may be ahead of its client: enough to
// gather small writes while the client is slow, too little to matter in memory.
const pipeLimit = 64 << 10

// pipe is a bounded buffer between a handler and the Runtime API's client.
// Unlike io.Pipe it does not make each small write wait for the network, and it
// can end with a last piece of data and an error.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond // of any field
	buffer  bytes.Buffer
	until   time.Time // when a write that still waits fails; zero: never
	late    bool      // a write has failed so
	refusal error     // of writes
	end     error     // what the reader gets after the buffer; nil: more may come
	left    bool      // the reader is gone, and data goes nowhere
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.buffer.Len() == 0 && p.end == nil {
		p.changed.Wait()
	}
	if p.buffer.Len() == 0 {
		return 0, p.end
	}
	n, _ := p.buffer.Read(b)
	p.changed.Broadcast()
	return n, nil
}

// write blocks while the buffer is full, at most until the deadline: its error is
// os.ErrDeadlineExceeded then.
func (p *pipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		p.waitForRoom()
		switch {
		case p.refusal != nil:
			return written, p.refusal
		case p.left:
			return written + len(b), nil
		case p.buffer.Len() >= pipeLimit:
			p.late = true
			return written, os.ErrDeadlineExceeded
		}
		n, _ := p.buffer.Write(b[:min(len(b), pipeLimit-p.buffer.Len())])
		b, written = b[n:], written+n
		p.changed.Broadcast()
	}
	return written, nil
}

// waitForRoom returns when a write can go on or has to fail. The timer exists only
// as long as a write waits, so that none fires into a later invocation.
func (p *pipe) waitForRoom() {
	for p.refusal == nil && !p.left && p.buffer.Len() >= pipeLimit {
		if p.until.IsZero() {
			p.changed.Wait()
			continue
		}
		rest := time.Until(p.until)
		if rest <= 0 {
			return
		}
		alarm := time.AfterFunc(rest, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.changed.Broadcast()
		})
		p.changed.Wait()
		alarm.Stop()
	}
}

// setDeadline sets when writes that wait fail, also one that waits already; the
// zero time means never.
func (p *pipe) setDeadline(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = until
	p.changed.Broadcast()
}

// stalled reports whether a write has failed for its deadline, or would now: the
// end of a response is one more write, as in net/http.
func (p *pipe) stalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late || !p.until.IsZero() && !time.Now().Before(p.until)
}

// refuse makes this and every later write fail, also one that blocks.
func (p *pipe) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal == nil {
		p.refusal = err
		p.changed.Broadcast()
	}
}

// finish ends the data with a last piece, which may exceed the limit, and the
// error that the reader gets after it. Only the first call counts.
func (p *pipe) finish(last []byte, end error) {
	p.refuse(io.ErrClosedPipe)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		return
	}
	if !p.left {
		p.buffer.Write(last)
	}
	p.end = end
	p.changed.Broadcast()
}

// leave records that the reader has gone. Later writes succeed and are discarded: a
// client that goes away does not cancel a run.
func (p *pipe) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	p.buffer.Reset()
	p.changed.Broadcast()
}
