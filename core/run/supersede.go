package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// open takes the run's own input into the draft, behind the record that takes
// back what the input supersedes. Whoever stores the input does both: the run's
// first commit, or its end when there was none.
func (p *step) open(ctx context.Context, input *thread.Queued) error {
	if err := p.supersede(ctx, input.Supersede); err != nil {
		return err
	}
	p.say(p.head.Run.Dispatch, input.Messages)
	return nil
}

// openAtEnd is open for a run that ends before its first commit. Its end does not
// wait for what cannot be read any more, nor for what may be what takes the
// process down, once claims of the closing run were lost: then the input is
// stored, and supersedes nothing.
func (p *step) openAtEnd(ctx context.Context, input *thread.Queued) error {
	lost := p.head.Run.Status == thread.Closing && p.head.Run.Attempts >= thread.SkipRunEnd
	if input.Supersede == 0 || p.conversation != nil && !lost {
		err := p.open(ctx, input)
		if err == nil || core.CodeOf(err) != core.CodeCorrupt {
			return err
		}
		p.log.ErrorContext(ctx, "what the input supersedes cannot be taken back", append(p.attrs(), "error", err)...)
	}
	p.say(p.head.Run.Dispatch, input.Messages)
	return nil
}

// supersede takes the log back from a sequence on, before the run says its own
// input: the draft begins with a record that names the range and leads the state
// back to what it was before it. Without a stored snapshot from before the range
// that state is folded from the beginning of the log, in one pass.
func (p *step) supersede(ctx context.Context, from uint64) error {
	if from == 0 || from > p.head.Seq {
		return nil
	}
	from, before, err := p.superseded(ctx, from)
	if err != nil {
		return err
	}
	earlier := &step{Stepper: p.Stepper, Work: p.Work, id: p.id, head: p.head}
	earlier.head.Seq = from - 1
	if err := earlier.readBack(ctx); err != nil {
		return fmt.Errorf("read the thread before sequence %d: %w", from, err)
	}
	then, now := earlier.conversation, p.draft.snapshot
	entry := thread.Entry{
		Run: p.id, Superseded: &thread.Range{From: from, To: p.head.Seq}, Earlier: before,
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

// superseded returns where the range begins that the run takes back, and the
// ranges before it. Input that runs have superseded since it was named stands in
// one of theirs, or is the input right behind its record: the range begins where
// that one does, so that no two of them overlap, and what is said anew again and
// again is one range.
func (p *step) superseded(ctx context.Context, from uint64) (uint64, []thread.Range, error) {
	ranges, err := store.Superseded(ctx, p.store, p.records, p.Key, p.head.Supersedes, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("read what is superseded: %w", err)
	}
	for i, r := range ranges {
		if from > r.Record()+1 {
			return from, slices.Clone(ranges[i:min(len(ranges), i+thread.MaxEarlier)]), nil
		}
		from = min(from, r.From)
	}
	return from, nil, nil
}
