// Package pins resolves agents for runs, which end with the agent that they began with.
package pins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
)

// Snapshots keeps the content of resolved agents by its hash, permanently: see
// store.Backend.
type Snapshots interface {
	PutSnapshot(ctx context.Context, hash string, content []byte) error
	Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error)
}

// Pins resolves agents for runs: a run starts with the agent of that time, which is stored,
// and continues and ends with it, even if the registry has changed the agent of that id
// since. It is safe for concurrent use.
type Pins struct {
	agents    *registry.Registry
	snapshots Snapshots

	mu     sync.Mutex
	stored map[string]bool               // hashes of today's agents that are known to be stored
	before map[string]*registry.Resolved // agents of other times, by hash
}

// ErrStore is a failure of the store that keeps agents: it proves nothing about the
// agent, and another attempt may find it.
var ErrStore = errors.New("the store of agents failed")

// maxBefore bounds the agents of other times that are kept in memory.
const maxBefore = 64

// New returns the resolver of a registry whose agents are kept in snapshots.
func New(agents *registry.Registry, snapshots Snapshots) *Pins {
	return &Pins{agents: agents, snapshots: snapshots, stored: map[string]bool{}, before: map[string]*registry.Resolved{}}
}

// Resolve returns the agent that a run is pinned to by its hash. An empty pin is that of a
// run which starts: it is today's agent, and is stored before Resolve returns, once for
// each process.
//
// An id that is not registered is an error with code not_found, and so is a part that a
// pinned agent names and this program lacks. Content of a newer program has code schema.
// Every failure of the store is also [ErrStore].
func (p *Pins) Resolve(ctx context.Context, id, pin string) (*registry.Resolved, error) {
	today, err := p.agents.Resolve(id)
	switch {
	case pin == "" && err != nil:
		return nil, err
	case pin == "":
		return today, p.store(ctx, today)
	case err == nil && today.Hash() == pin:
		return today, nil
	}
	then, known, lookup := p.lookup(ctx, pin)
	switch {
	case lookup != nil:
		return nil, fmt.Errorf("agent %q as of %s: %w", id, core.Excerpt(pin), lookup)
	case known:
		return then, nil
	case err != nil:
		return nil, err
	}
	return nil, core.Errorf(core.CodeNotFound, "agent %q as of %s: it is not stored", id, core.Excerpt(pin))
}

// store keeps today's agent, unless this process has done so.
func (p *Pins) store(ctx context.Context, today *registry.Resolved) error {
	p.mu.Lock()
	done := p.stored[today.Hash()]
	p.mu.Unlock()
	if done {
		return nil
	}
	// Not under the lock: two runs that begin at once store the same bytes twice.
	if err := p.snapshots.PutSnapshot(ctx, today.Hash(), today.Content()); err != nil {
		return fmt.Errorf("%w: storing agent %q: %w", ErrStore, today.Spec.ID, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored[today.Hash()] = true
	return nil
}

// lookup returns the agent of another time; false when it was never stored.
func (p *Pins) lookup(ctx context.Context, pin string) (*registry.Resolved, bool, error) {
	p.mu.Lock()
	then, known := p.before[pin]
	p.mu.Unlock()
	if known {
		return then, true, nil
	}
	content, ok, err := p.snapshots.Snapshot(ctx, pin)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrStore, err)
	}
	if !ok {
		return nil, false, nil
	}
	if then, err = p.agents.ResolveContent(content); err != nil {
		return nil, false, err
	}
	if then.Hash() != pin {
		return nil, false, core.Errorf(core.CodeCorrupt, "the stored content has another hash, %s", then.Hash())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.before) >= maxBefore {
		maps.DeleteFunc(p.before, func(string, *registry.Resolved) bool { return true })
	}
	p.before[pin] = then
	return then, true, nil
}
