package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// ErrUnknownFunction is returned for an invocation of a function that the host
// was not given.
var ErrUnknownFunction = errors.New("no such function")

// ErrClosed is returned for an invocation after [Host.Close].
var ErrClosed = errors.New("the host is closed")

// Options configures a [Host]. The zero value works.
type Options struct {
	Logger *slog.Logger // what the host does; nil: slog.Default()
	Output io.Writer    // what the functions print; nil: os.Stderr
	// Report, if set, is called for each finished invocation, before [Host.Invoke] returns.
	// Invocations of several sandboxes are reported concurrently.
	Report func(Report)
}

// Host runs functions. Its methods may be called concurrently.
type Host struct {
	log    *slog.Logger
	output io.Writer
	report func(Report)
	pools  map[string]*pool
	work   sync.WaitGroup // everything that the host has started
	mu     sync.Mutex
	closed bool
	starts []Start
}

// Start describes the start of a sandbox.
type Start struct {
	Function string
	PID      int
	Init     time.Duration // from exec to the first request for an event
}

// New returns a host for the functions. Nothing is started yet. The caller must
// call Close.
func New(o Options, functions ...Function) (*Host, error) {
	h := &Host{log: o.Logger, output: os.Stderr, report: o.Report, pools: map[string]*pool{}}
	if h.log == nil {
		h.log = slog.Default()
	}
	if o.Output != nil {
		h.output = &lockedWriter{w: o.Output}
	}
	for _, f := range functions {
		f, err := f.withDefaults()
		if err != nil {
			return nil, err
		}
		if h.pools[f.Name] != nil {
			return nil, fmt.Errorf("function %s: there are two", f.Name)
		}
		h.pools[f.Name] = newPool(h, f)
	}
	return h, nil
}

// Stream invokes a function and returns as soon as it starts to respond. The
// caller must read the response's body to its end or close it. Errors: a
// [*FunctionError] when the function fails before it responds,
// [ErrUnknownFunction], [ErrClosed], the context's. Lambda cannot cancel an
// invocation: if ctx ends first, the function continues.
func (h *Host) Stream(ctx context.Context, function string, payload []byte) (*Response, error) {
	return h.stream(ctx, function, newInvocation(payload))
}

func (h *Host) stream(ctx context.Context, function string, inv *invocation) (*Response, error) {
	p := h.pools[function]
	if p == nil {
		return nil, fmt.Errorf("invoke %q: %w", function, ErrUnknownFunction)
	}
	if err := p.deliver(ctx, inv); err != nil {
		return nil, err
	}
	select {
	case <-inv.responded:
		return inv.response, inv.err
	case <-ctx.Done():
		inv.abandon()
		return nil, ctx.Err()
	}
}

// Result is the whole response to an invocation.
type Result struct {
	RequestID string
	Prelude   *Prelude // nil unless the function streamed an HTTP response
	Payload   []byte   // the JSON, or the body of the HTTP response
}

// Invoke invokes a function with an event and waits until it is done with it: it
// has responded and asked for the next event. Errors are those of
// [Host.Stream]; when the response breaks off, the result holds what came before
// the [*FunctionError].
func (h *Host) Invoke(ctx context.Context, function string, payload []byte) (Result, error) {
	inv := newInvocation(payload)
	response, err := h.stream(ctx, function, inv)
	result := Result{RequestID: inv.id}
	var failure *FunctionError
	if err != nil && !errors.As(err, &failure) {
		return result, err
	}
	if response != nil {
		stop := context.AfterFunc(ctx, func() { _ = response.Body.Close() })
		defer stop()
		result.Prelude = response.Prelude
		result.Payload, err = io.ReadAll(response.Body)
		if err != nil && ctx.Err() != nil {
			return result, ctx.Err()
		}
	}
	select {
	case <-inv.over:
		return result, err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// Starts lists the sandboxes that became ready, in that order, dead ones too.
func (h *Host) Starts() []Start {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Start(nil), h.starts...)
}

// Recycle ends the idle sandboxes of a function, as Lambda does after some time, so that its
// next invocation starts a new one. Busy sandboxes are not affected. Recycle returns when the
// processes are gone. The only error is [ErrUnknownFunction].
func (h *Host) Recycle(function string) error {
	p := h.pools[function]
	if p == nil {
		return fmt.Errorf("recycle %q: %w", function, ErrUnknownFunction)
	}
	p.recycle()
	return nil
}

// Close kills every sandbox and waits until all have exited.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, p := range h.pools {
		p.killAll()
	}
	h.work.Wait()
	return nil
}

// track runs f and lets Close wait for it. It returns false once the host is
// closed.
func (h *Host) track(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(f)
	return true
}

func (h *Host) recordStart(s Start) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts = append(h.starts, s)
}

// lockedWriter lets sandboxes share a writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
