package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Input comes in two ways: a run's own, which a dispatch brought and which opens
// the run, and input that was steered to it since, which lies in the head's inbox.
// Both are records Q#<id>#<revision>, and the head alone decides which revision
// counts.

// hear takes new input into the draft: the summary of earlier messages, if one has
// come, the run's own input, and the inbox as the claim found it. Later input is
// the next step's. The commit names each entry with the revision that was read: one
// that was edited in between refuses it (thread.ErrStale), and the step is
// repeated.
func (m *machine) hear(ctx context.Context) error {
	if m.holder.head.Run.Cursor == thread.CursorStart {
		if m.base.input == nil {
			input, err := m.holder.queued(ctx, m.holder.head.Run.Dispatch, m.holder.head.Run.Revision)
			if err != nil {
				return err
			}
			m.base.input = &input
		}
		if err := m.sayOwn(ctx, m.base.input); err != nil {
			return err
		}
		// For S#, which a regenerate goes back to: see storeSnapshot.
		if m.draft.cut == 0 { // else it supersedes what the snapshot would have
			m.base.starting = m.base.conversation
		}
	}
	inputs, err := m.holder.inbox(ctx)
	if err != nil {
		return err
	}
	// In the order of the head, which is the order in which people said it.
	for i, entry := range m.holder.head.Inbox {
		seq := m.draft.sequence(len(m.draft.entries))
		m.draft.say(entry.ID, inputs[i].Messages)
		m.draft.consumed = append(m.draft.consumed, thread.InboxRef{ID: entry.ID, Revision: entry.Revision, Seq: seq})
	}
	if len(m.draft.entries) == 0 && m.base.takesUp() {
		m.draft.askToGoOn(m.base.agent.Spec.ResponseFormat)
	}
	return m.prompt.adopt(ctx) // of what the input has left: it may have taken a part back
}

// sayOwn takes the run's own input into the draft, after the record that supersedes
// what the input replaces. The write that stores the input stores both: the run's
// first commit, or its end when it had none.
func (m *machine) sayOwn(ctx context.Context, input *thread.Queued) error {
	if err := m.supersede(ctx, input.Supersede); err != nil {
		return err
	}
	m.draft.say(m.holder.head.Run.Dispatch, input.Messages)
	return nil
}

// sayOwnAtEnd is sayOwn for a run that ends before its first commit. Its end does
// not wait for records that cannot be read any more, nor for a read that may take
// the process down, once claims of the closing run were lost: then the input is
// stored, and supersedes nothing. Nor does it in an end without state changes: the
// way back to the state before is one. After a RunEnd under an earlier claim it
// supersedes as it did there: the changes of RunEnd are of the state that was left.
func (m *machine) sayOwnAtEnd(ctx context.Context, input *thread.Queued, form thread.Form) error {
	lost := m.holder.head.Run.Status == thread.Closing && m.holder.head.Run.Attempts >= thread.SkipRunEnd && m.holder.head.Run.RunEnd == 0
	if m.base.conversation != nil && !lost && form < thread.FormStateless {
		err := m.sayOwn(ctx, input)
		if core.CodeOf(err) != core.CodeCorrupt {
			return err
		}
		m.holder.complain(ctx, "superseded messages cannot be withdrawn", "error", err)
	}
	m.draft.say(m.holder.head.Run.Dispatch, input.Messages)
	return nil
}

// say adds messages of a person to the draft. Their entries name the input, by
// which an audit that says "read" is confirmed.
func (d *draft) say(input core.ID, messages []core.Message) {
	for _, m := range messages {
		m.RunID = d.run
		d.add(thread.Entry{Run: m.RunID, Message: &m, Input: input})
	}
}
