package run

import "context"

// remember makes the conversation that the commit came to, and caches it: the
// next step of the thread in this process reads nothing.
func (m *machine) remember(ctx context.Context) {
	next, err := m.holder.s.reader.Extend(m.base.conversation, m.draft.entries, m.draft.messages, m.draft.past.Summary)
	if err != nil { // cannot be: it was made from this very state. The log is right, and read anew
		m.holder.complain(ctx, "committed entries do not fold", "error", err)
		return
	}
	next.Record, next.Standing = m.base.record, m.holder.account.Standing()
	m.base.conversation = next
	m.holder.s.reader.Keep(m.holder.Key, next)
}
