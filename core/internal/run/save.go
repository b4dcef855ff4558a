package run

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// save writes, and does what follows every write of the log or of the run's end: it
// passes the new records to the observer, and runs the effects of calls, since any
// write may be the one that moves a call to done. A turn that a store refuses as too
// large is written without its request.
func (m *machine) save(ctx context.Context, w write) (*plan, thread.Result, error) {
	was := m.holder.head
	p, result, err := m.holder.write(ctx, w)
	if errors.Is(err, store.ErrTooLarge) && m.draft.dropSent() {
		p, result, err = m.holder.write(ctx, w)
	}
	if err != nil {
		return nil, result, err
	}
	if m.holder.s.observer != nil && m.holder.head.Seq > was.Seq {
		m.holder.s.observer.Logged(m.base.record.AgentID, m.draft.entries)
	}
	m.tools.known().callEffects(ctx, was, m.holder.head)
	return p, result, nil
}
