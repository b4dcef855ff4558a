package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// handlers share the time of the process among what it works on: while n handlers are
// under way, a second is the nth of a second of each. It is what is billed of a function
// that works on several messages at once.
type handlers struct {
	now func() time.Time

	mu     sync.Mutex
	active int
	last   time.Time
	each   time.Duration // what a handler would have that had been there from the start
}

// enter begins a handler. share returns its part so far, in milliseconds; leave ends it.
func (h *handlers) enter() (share func() int64, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.move()
	h.active++
	began := h.each
	share = func() int64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.move()
		return (h.each - began).Milliseconds()
	}
	leave = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.move()
		h.active--
	}
	return share, leave
}

// move brings each up to now; the caller holds the lock.
func (h *handlers) move() {
	now := h.now()
	if h.active > 0 {
		h.each += max(now.Sub(h.last), 0) / time.Duration(h.active)
	}
	h.last = now
}

// metered returns a context under which what is spent on the thread is counted, if
// anything is. leave ends the handler's part.
func (r *Runtime) metered(ctx context.Context, key core.ThreadKey) (_ context.Context, leave func()) {
	if !r.metering || store.MeterOf(ctx).Of(key) {
		return ctx, func() {}
	}
	share, leave := r.handlers.enter()
	return store.WithMeter(ctx, key, share), leave
}
