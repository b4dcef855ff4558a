package run

import (
	"context"

	"github.com/reveille-run/reveille/core/internal/engine"
)

// committed follows commits A and B: the turn is the log's now. The draft goes into
// the conversation, and the next one starts. The committed effects run last, after
// the cache knows of the commit: they may take long or take the process down, and
// nothing rolls them back. They see the state after the commit, under the step that
// requested them.
func (m *machine) committed(ctx context.Context) {
	m.unsaid, m.base.recorded = nil, true
	m.remember(ctx)
	// Taken before begin: the draft is another one then.
	effects, v := m.draft.effects, m.draft.view()
	if m.prompt.asks { // the prompt asks for a summary
		m.holder.s.hint(ctx, m.holder.Key)
	}
	warnOfFailedActions(ctx, &m.holder.log, m.draft.entries)
	m.begin()
	m.base.hooks.act(ctx, &m.holder, v, engine.Moment{}, effects)
}

// remember makes the conversation that follows from the commit, and caches it: the
// next step of the thread in this process reads nothing.
func (m *machine) remember(ctx context.Context) {
	next, err := m.holder.s.reader.Extend(m.base.conversation, m.draft.entries, m.draft.messages, m.draft.past.Summary)
	if err != nil { // cannot be: it was made from this very state. The log is right, and is read again
		m.holder.complain(ctx, "committed entries do not fold", "error", err)
		return
	}
	next.Record, next.Standing = m.base.record, m.holder.account.Standing()
	if m.holder.head.Run.ID != m.holder.id { // the run is over: no step reads its record, and most threads that are kept have no run
		next.Record = nil
	}
	if m.draft.asked != nil {
		next.Sent = m.draft.asked
	}
	if m.prompt.window != nil { // the step has made a request
		next.Sum = m.prompt.sum
		next.KeepShown(m.prompt.kept)
	}
	m.base.conversation = next
	m.holder.s.reader.Keep(m.holder.Key, next)
}
