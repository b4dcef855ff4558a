package protocol

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

const (
	// Heartbeat is the silence after which a stream sends a comment.
	Heartbeat = 15 * time.Second
	// Stall is the time without progress after which a reader is dropped, and the time
	// limit for the last frames of a stream.
	Stall = 30 * time.Second
	// lastWords is how long they may take when the request is over already: its host
	// stops, or its time is up.
	lastWords = 2 * time.Second
	// MaxBacklog is the number of bytes that a stream may be ahead of its reader. A frame
	// that finds a larger backlog drops the reader; one frame may exceed it.
	MaxBacklog = 4 << 20
	// ready is the backlog below which [Writer.Ready] returns.
	ready = 64 << 10
)

// ErrSlow ends the stream of a reader that lags by more than [MaxBacklog] bytes.
var ErrSlow = core.Errorf(core.CodeUnavailable, "the reader lags by more than %d bytes", MaxBacklog)

// errOver is returned for a write after the end.
var errOver = core.Errorf(core.CodeInternal, "the stream is over")

// Writer writes frames to one response. Its caller never waits for the network: a frame
// joins the backlog, and a separate loop writes the whole backlog with one flush. So a
// frame that finds the loop idle leaves immediately, and frames that arrive during a
// write leave together with the next write.
//
// Its methods may be called concurrently. After an error every later call returns that
// error and writes nothing.
type Writer struct {
	response http.ResponseWriter
	control  *http.ResponseController
	header   http.Header      // in addition to everyStream's
	now      func() time.Time // the environment's, inside While

	mu      sync.Mutex // never held across I/O: SetWriteDeadline does none
	backlog []byte     // frames that the loop has not taken
	buffers *buffers   // inside While; the loop's
	writing int        // bytes that it has taken and the transport has not
	started bool       // a frame or heartbeat was accepted: the status is 200
	closed  bool       // no frame follows
	end     time.Time  // when the last byte must have left, once closed
	err     error
	idle    bool          // the loop waits for wake
	wake    chan struct{} // holds one signal for the loop
	room    chan struct{} // closed when Ready should look again; nil: no caller waits
}

// NewWriter returns a writer over w. Before the first frame or heartbeat it sends nothing
// and sets no header of w. It writes only inside While.
func NewWriter(w http.ResponseWriter) *Writer {
	return &Writer{response: w, control: http.NewResponseController(w), now: time.Now, wake: make(chan struct{}, 1)}
}

// everyStream are the headers of every stream. Responses share the values, whose
// capacity is their length: to add one copies them.
var everyStream = http.Header{
	"Content-Type":      {"text/event-stream"},
	"Cache-Control":     {"no-cache"},
	"Connection":        {"keep-alive"},
	"X-Accel-Buffering": {"no"}, // nginx would hold frames back
}

// SetHeader sets a header that is sent with the first frame. It must not be called inside
// While.
func (w *Writer) SetHeader(name string, values ...string) {
	if w.header == nil {
		w.header = http.Header{}
	}
	w.header[name] = values
}

// While calls f and writes the frames that f sends, with the comment "keep-alive" after
// each [Heartbeat] of silence. It returns when f has returned and its frames have left,
// or when the reader was dropped. If the client disconnects or ctx is done, the
// heartbeats end, f continues, and While returns no error for it; see Err. A panic of f
// is returned as an *env.PanicError. While must be called only once.
func (w *Writer) While(ctx context.Context, e *env.Env, f func() error) error {
	w.now = e.Now
	w.borrow()
	defer w.giveBack()
	// The only goroutine of a stream, and While waits for it: none outlives the
	// request, whose response must not be touched after its handler has returned.
	beside, _ := e.Group(ctx)
	beside.Go(func(ctx context.Context) error {
		err := env.Protect(func() error { return w.loop(ctx.Done()) })
		if err != nil {
			w.abandon(err) // after any error no frame is written
		}
		return nil
	})
	err := env.Protect(f)
	if ctx.Err() != nil {
		w.drain(lastWords)
	} else {
		w.drain(Stall)
	}
	_ = beside.Wait() // its error is the writer's
	return err
}

// Write sends a frame. It returns immediately. An error means that the stream has no
// reader: the client has gone, has read nothing for [Stall], or is [ErrSlow]. f is
// copied.
func (w *Writer) Write(f Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errOver
	case w.behind() > MaxBacklog:
		w.abandonHeld(ErrSlow)
		return w.err
	}
	w.started = true
	if w.backlog == nil {
		w.backlog = make([]byte, 0, usual)
	}
	w.backlog = f.appendTo(w.backlog)
	w.rouse()
	return nil
}

// Ready returns when nearly all frames have left: less than 64 KiB wait. A caller that
// has all its data, such as a replay, calls it before each portion, so that it reads no
// faster than its client. An error is Write's, or ctx is done.
func (w *Writer) Ready(ctx context.Context) error {
	for {
		w.mu.Lock()
		if w.err != nil || w.behind() < ready {
			defer w.mu.Unlock()
			return w.err
		}
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Started reports whether anything was sent, after which a refusal is too late.
func (w *Writer) Started() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started
}

// Err returns the reason why the stream has no reader; nil: it has one.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// seal reports whether nothing was sent, and then nothing will be, no heartbeat
// either: the response is free for a refusal when While returns.
func (w *Writer) seal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = w.closed || !w.started
	return !w.started
}

// drain lets the loop write what is there and end, for as long as that may take. A
// write that is under way may have more time, which is taken from it.
func (w *Writer) drain(within time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.end = true, w.now().Add(within)
	if within < Stall && w.started && w.err == nil {
		_ = w.control.SetWriteDeadline(w.end)
	}
	w.rouse()
}

// abandon ends the stream with an error; the first one stays.
func (w *Writer) abandon(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abandonHeld(err)
}

// abandonHeld is abandon for a caller that holds the lock. A write that is under way is
// ended by its deadline; one that is about to start looks at err first, under the lock.
func (w *Writer) abandonHeld(err error) {
	if w.err != nil {
		return
	}
	w.err, w.backlog = err, nil
	_ = w.control.SetWriteDeadline(w.now()) // a transport without deadlines has nothing to end
	w.signalRoom()
	w.rouse()
}

// rouse wakes the loop, if it waits; the caller holds the lock. While the loop is
// busy no signal is needed, since it looks at the backlog before it waits.
func (w *Writer) rouse() {
	if w.idle {
		w.idle = false
		select {
		case w.wake <- struct{}{}:
		default: // an older signal is still there
		}
	}
}

// behind is the number of bytes that have not left.
func (w *Writer) behind() int { return len(w.backlog) + w.writing }

// signalRoom lets those who wait in Ready look again; the caller holds the lock.
func (w *Writer) signalRoom() {
	if w.room != nil && (w.err != nil || w.behind() < ready) {
		close(w.room)
		w.room = nil
	}
}

// flush pushes what the transport buffers, if it does.
func (w *Writer) flush() error {
	if err := w.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
