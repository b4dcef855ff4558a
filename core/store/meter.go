package store

import (
	"context"
	"sync"

	"github.com/reveille-run/reveille/core"
)

// Meter counts what a process spends on a run of one thread. Backends and queues add to
// the one of their context; the writes of the run's head take out what came together.
// It is safe for concurrent use. A nil Meter counts nothing.
type Meter struct {
	Key core.ThreadKey
	// Handler returns the milliseconds that a handler has worked on the thread so far; nil:
	// none does.
	Handler func() int64

	mu      sync.Mutex
	counted core.Spent // WriteMore and QueueMore are 0
	taken   core.Spent // of counted, or estimated to come
}

type meterKey struct{}

// In returns a context under which the meter counts what is spent.
func (m *Meter) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf returns the context's, nil when it has none.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// Of reports whether m counts for the thread.
func (m *Meter) Of(key core.ThreadKey) bool { return m != nil && m.Key == key }

// Add counts what was spent.
func (m *Meter) Add(spent core.Spent) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted = sum(m.counted, spent)
}

// Drain returns the spending since the last Drain. It omits spending that was estimated
// then, and counted since.
func (m *Meter) Drain() core.Spent {
	if m == nil {
		return core.Spent{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Handler != nil {
		m.counted.Handler = m.Handler()
	}
	c, t := m.counted, m.taken
	out := core.Spent{
		Handler: max(c.Handler-t.Handler, 0), Read: max(c.Read-t.Read, 0),
		Write: max(c.Write-t.Write, 0), Queue: max(c.Queue-t.Queue, 0),
	}
	m.taken = sum(t, out)
	return out
}

// Owe notes that the write which follows was estimated, and is not to be counted again.
func (m *Meter) Owe(estimated core.Spent) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken.Write += estimated.WriteMore
	m.taken.Queue += estimated.QueueMore
}

// Return adds again the spending that was taken for a write that did not happen.
func (m *Meter) Return(spent core.Spent) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken.Handler -= spent.Handler
	m.taken.Read -= spent.Read
	m.taken.Write -= spent.Write
	m.taken.Queue -= spent.Queue
}

func sum(a, b core.Spent) core.Spent {
	return core.Spent{Handler: a.Handler + b.Handler, Write: a.Write + b.Write, Read: a.Read + b.Read, Queue: a.Queue + b.Queue}
}
