package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// inbox reads the texts of the inbox, all at the same time, each into a place of
// its own. One that is lost is empty: there is nothing to read, and never will be,
// and the run must not wait for it.
func (b *base) inbox(ctx context.Context) ([]thread.Queued, error) {
	if len(b.holder.head.Inbox) == 0 {
		return nil, nil
	}
	inputs := make([]thread.Queued, len(b.holder.head.Inbox))
	read := func(ctx context.Context, i int) (err error) {
		entry := b.holder.head.Inbox[i]
		inputs[i], err = b.queued(ctx, entry.ID, entry.Revision)
		if core.CodeOf(err) == core.CodeCorrupt {
			b.holder.complain(ctx, "input is lost", "input", entry.ID, "error", err)
			return nil
		}
		return err
	}
	group, shared := b.holder.env.Group(ctx)
	for i := 1; i < len(inputs); i++ {
		group.Go(func(ctx context.Context) error { return read(ctx, i) })
	}
	err := read(shared, 0)
	return inputs, errors.Join(group.Wait(), err)
}

// queued reads the text of a queued input in the revision that the head names. It
// outlives every run that it can wait for, so that its absence is damage.
func (b *base) queued(ctx context.Context, id core.ID, revision uint32) (thread.Queued, error) {
	name := store.InputName(id, revision)
	record, ok, err := b.holder.store.Get(ctx, b.holder.Key, name)
	if err != nil {
		return thread.Queued{}, fmt.Errorf("read queued input: %w", err)
	}
	if !ok {
		return thread.Queued{}, fmt.Errorf("queued input %s is missing: %w", name, store.ErrCorrupt)
	}
	return b.holder.records.DecodeQueued(record.Payload)
}
