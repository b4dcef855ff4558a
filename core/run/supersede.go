package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// supersede takes the log back from a sequence on, before the run says its own
// input: the draft begins with a record that names the range and leads the state
// back to what it was before it. Without a stored snapshot from before the range
// that state is folded from the beginning of the log, in one pass.
func (p *step) supersede(ctx context.Context, from uint64) error {
	if from == 0 || from > p.head.Seq { // an earlier run has taken it back already
		return nil
	}
	earlier := &step{Stepper: p.Stepper, Work: p.Work, id: p.id, head: p.head}
	earlier.head.Seq = from - 1
	if err := earlier.readBack(ctx); err != nil {
		return fmt.Errorf("read the thread before sequence %d: %w", from, err)
	}
	then, now := earlier.conversation, p.draft.snapshot
	entry := thread.Entry{
		Run: p.id, Superseded: &thread.Range{From: from, To: p.head.Seq},
		Patch: state.Diff(now, then.snapshot.BeginRun()), Revision: now.Revision(),
	}
	if len(entry.Patch) > 0 {
		entry.Revision++
	}
	fold := state.NewFold(now)
	if err := fold.Apply(entry.Patch, entry.Revision); err != nil {
		return core.Errorf(core.CodeInternal, "state before sequence %d: %w", from, err)
	}
	d := &p.draft
	d.snapshot, d.cut = fold.Snapshot(), from
	messages := then.messages[p.window.Cut(then.messages):]
	d.messages = messages[:len(messages):len(messages)]
	d.add(entry)
	return nil
}
