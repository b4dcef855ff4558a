package protocol

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// Heartbeat is the silence after which [Writer.KeepAlive] sends a comment.
const Heartbeat = 15 * time.Second

// stall is how long one frame may take to leave. A client that stopped reading
// must not hold up the run that writes to it.
const stall = 30 * time.Second

// Frame is one server-sent event. Empty fields are left out, Data never is.
type Frame struct {
	ID    string // becomes the Last-Event-ID of a reconnecting client
	Event string
	Data  []byte // several lines become several data fields
}

// Writer writes frames to one response. Its methods may be called concurrently.
// After an error every later call returns that error and writes nothing.
type Writer struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	header  http.Header
	now     func() time.Time // nil outside KeepAlive
	last    time.Time        // of the last write, or of KeepAlive's begin
	started bool
	err     error
}

// NewWriter returns a writer over w. Nothing is sent, and no header of w is
// set, before the first frame or comment.
func NewWriter(w http.ResponseWriter) *Writer {
	return &Writer{w: w, control: http.NewResponseController(w), header: http.Header{
		"Content-Type":      {"text/event-stream"},
		"Cache-Control":     {"no-cache"},
		"Connection":        {"keep-alive"},
		"X-Accel-Buffering": {"no"}, // nginx would hold frames back
	}}
}

// SetHeader sets a header that is sent with the first frame.
func (w *Writer) SetHeader(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.header.Set(name, value)
}

// Started reports whether anything was sent, so that a refusal comes too late.
func (w *Writer) Started() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started
}

// Err returns the error that ended the stream, if any.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Write sends a frame and flushes it.
func (w *Writer) Write(f Frame) error {
	var b bytes.Buffer
	if f.ID != "" {
		field(&b, "id", oneLine(f.ID))
	}
	if f.Event != "" {
		field(&b, "event", oneLine(f.Event))
	}
	for _, line := range lines(string(f.Data)) {
		field(&b, "data", line)
	}
	b.WriteByte('\n')
	return w.send(b.Bytes())
}

// Comment sends lines that clients ignore and flushes them.
func (w *Writer) Comment(text string) error {
	var b bytes.Buffer
	for _, line := range lines(text) {
		field(&b, "", line)
	}
	b.WriteByte('\n')
	return w.send(b.Bytes())
}

// KeepAlive calls f and sends the comment "keep-alive" whenever nothing was
// sent for [Heartbeat]. When it returns no heartbeat is under way any more. A
// client that is gone ends the heartbeats, not f. A panic of f is returned as
// an *env.PanicError.
func (w *Writer) KeepAlive(ctx context.Context, e *env.Env, f func() error) error {
	w.mu.Lock()
	w.now, w.last = e.Now, e.Now()
	w.mu.Unlock()
	beats, _ := e.Group(ctx)
	beats.Go(func(ctx context.Context) error { w.beat(ctx, e); return nil })
	err := env.Protect(f)
	beats.Cancel()
	if beat := beats.Wait(); err == nil {
		err = beat
	}
	return err
}

func (w *Writer) beat(ctx context.Context, e *env.Env) {
	wait := Heartbeat
	for e.Sleep(ctx, wait) == nil {
		idle := w.idle()
		if idle < Heartbeat {
			wait = Heartbeat - idle
			continue
		}
		if w.Comment("keep-alive") != nil {
			return
		}
		wait = Heartbeat
	}
}

func (w *Writer) idle() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now().Sub(w.last)
}

// send writes one whole frame. The lock is held across the write because that
// is what it is for: frames must not mix.
func (w *Writer) send(frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if !w.started {
		w.started = true
		for name, values := range w.header {
			w.w.Header()[name] = values
		}
		w.w.WriteHeader(http.StatusOK)
	}
	if w.now != nil {
		w.last = w.now()
		_ = w.control.SetWriteDeadline(w.last.Add(stall)) // a transport without deadlines has none
	}
	if _, w.err = w.w.Write(frame); w.err != nil {
		return w.err
	}
	if err := w.control.Flush(); !errors.Is(err, http.ErrNotSupported) { // an unbuffered transport needs none
		w.err = err
	}
	return w.err
}

func field(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	b.WriteString(": ")
	b.WriteString(value)
	b.WriteByte('\n')
}

var (
	breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	joins  = strings.NewReplacer("\r", "", "\n", "", "\x00", "")
)

// lines splits at every line end that the format knows: LF, CR LF and CR.
func lines(text string) []string { return strings.Split(breaks.Replace(text), "\n") }

// oneLine removes what would end an id or event field early.
func oneLine(text string) string { return joins.Replace(text) }
