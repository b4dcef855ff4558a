package env

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
)

// Point names one I/O operation of the protocol, such as "W6", the commit of a turn.
// Crash tests kill the process at each; a simulator can inject its faults there.
type Point string

// Env carries the outside world. Every field must be set; [System] sets them.
type Env struct {
	// Now is the wall clock. It serves liveness (leases, delays) and
	// timestamps; no safety property depends on it.
	Now func() time.Time
	// Sleep waits for d or until ctx ends, whose cause it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Wait waits until done is closed or ctx ends, whose cause it then returns; when both
	// have happened, it returns nil. All code that waits for another function waits here: a
	// simulator runs one function at a time, and a wait that it does not know of would stop
	// them all.
	Wait func(ctx context.Context, done <-chan struct{}) error
	// Deadline returns a child of ctx that ends at t by the clock Now, with the
	// cause context.DeadlineExceeded. The caller must call the function. Only
	// WithDeadline and WithTimeout call it.
	Deadline func(ctx context.Context, t time.Time) (context.Context, context.CancelFunc)
	// Random fills b with random bytes.
	Random func(b []byte)
	// Start runs f concurrently and returns immediately. Only Group and Each call it, and
	// code that may have to abandon f.
	Start func(f func())
	// After calls f concurrently when d has passed. stop keeps it from that and
	// returns true, or returns false: then f was called, or stopped before. Only
	// Group calls it.
	After func(d time.Duration, f func()) (stop func() bool)
	// Reach is called before the I/O of a named point, and the function that it returns
	// after it. Tests crash or fail there; in production both do nothing.
	Reach func(p Point) (done func())

	made   sync.Mutex // guards random
	random core.ID    // room for NewID, which Random would make escape each time
}

// System returns the real world: wall clock, crypto/rand, goroutines.
func System() *Env {
	return &Env{
		Now:      time.Now,
		Sleep:    sleep,
		Wait:     wait,
		Deadline: newDeadline,
		Random:   func(b []byte) { _, _ = rand.Read(b) }, // never fails, says its documentation
		Start:    func(f func()) { go f() },
		After:    func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
		Reach:    func(Point) func() { return passed },
	}
}

func passed() {}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func wait(ctx context.Context, done <-chan struct{}) error {
	// What is waited for is often the work of a goroutine that is ready: it goes first. Then
	// no goroutine waits for ctx, which may have no channel yet.
	for range 2 {
		select {
		case <-done:
			return nil
		default:
			runtime.Gosched()
		}
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return context.Cause(ctx)
	}
}

// WithDeadline returns a child of ctx that ends at t, by this clock, unless ctx
// ends before. Look at [context.Cause] to tell a deadline from a cancel: in a
// simulator [context.Context.Err] of a child says Canceled for both. The caller
// must call the function, which frees what the deadline holds.
func (e *Env) WithDeadline(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return e.Deadline(ctx, t)
}

// WithTimeout is WithDeadline at d from now.
func (e *Env) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return e.Deadline(ctx, e.Now().Add(d))
}

// Millis is the wall clock in unix milliseconds, the unit of every stored time.
func (e *Env) Millis() int64 { return e.Now().UnixMilli() }

// NewID makes a UUIDv7: 48 bits of time, then randomness.
func (e *Env) NewID() core.ID {
	e.made.Lock()
	e.Random(e.random[:])
	id := e.random
	e.made.Unlock()
	ms := uint64(e.Millis())
	binary.BigEndian.PutUint16(id[:2], uint16(ms>>32))
	binary.BigEndian.PutUint32(id[2:6], uint32(ms))
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Jitter returns a duration drawn evenly from [0, limit): full jitter.
func (e *Env) Jitter(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	var b [8]byte
	e.Random(b[:])
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(limit))
}
