package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// supersede supersedes the log from a sequence on, before the run adds its own
// input: the draft starts with a record that names the range and leads the state
// back to the one before the range. Without a stored snapshot from before the range
// that state is folded from the beginning of the log, in one pass.
func (m *machine) supersede(ctx context.Context, from uint64) error {
	if from == 0 || from > m.holder.head.Seq {
		return nil
	}
	from, before, err := m.holder.superseded(ctx, from)
	if err != nil {
		return err
	}
	at := m.holder.reads(m.base.conversation)
	then, err := m.holder.s.reader.Read(ctx, at, from-1)
	if err == nil { // the newest turn that is left may show a message from before its window
		then, err = m.holder.s.reader.FindFront(ctx, at, then)
	}
	if err != nil {
		return fmt.Errorf("read the thread before sequence %d: %w", from, err)
	}
	return m.draft.goBack(then, from, before)
}

// goBack makes the draft one of an earlier thread, from which it supersedes the log
// from a sequence on. earlier are the ranges that were superseded before it.
func (d *draft) goBack(then *checkpoint.Conversation, from uint64, earlier []thread.Range) error {
	// The two states are compared, instead of undoing patches one by one: a fold
	// over the log, range and record included, reaches the earlier one, with any
	// records between them.
	now := d.snapshot
	entry := thread.Entry{
		Run: d.run, Superseded: &thread.Range{From: from, To: d.from}, Earlier: earlier,
		Patch: now.Diff(then.Snapshot.BeginRun()), Revision: now.Revision(),
	}
	if len(entry.Patch) > 0 {
		entry.Revision++
	}
	fold := now.Fold()
	if err := fold.Apply(entry.Patch, entry.Revision); err != nil {
		return core.Errorf(core.CodeInternal, "state before sequence %d: %w", from, err)
	}
	// From here on the draft is of the earlier thread: hooks and model see nothing
	// of the superseded part.
	d.snapshot, d.cut = fold.Snapshot(), from
	d.past, d.messages = then, then.Messages.Without(int(then.First))
	d.add(entry)
	return nil
}
