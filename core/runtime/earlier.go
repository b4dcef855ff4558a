package runtime

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// greet gives the audience the thread's messages for a messages_snapshot, if its listener
// asks for one: those before the run or, where the stream goes on with a run that the
// reader knows, all that are committed. They are the newest, as many as a page has. What
// cannot be read is left out, since the run does not depend on it.
func (f *follower) greet(ctx context.Context, id core.Identity, goesOn bool) {
	if f.audience.started || !f.audience.wants(core.EventMessagesSnapshot) {
		return
	}
	page, err := f.Messages(ctx, id, f.key.Thread, MessageQuery{Newest: true})
	if err != nil {
		f.log.WarnContext(ctx, "messages_snapshot is left out", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		return
	}
	messages := slices.DeleteFunc(page.Messages, func(m core.Message) bool { return m.Pending })
	if own := slices.IndexFunc(messages, func(m core.Message) bool { return m.RunID == f.run }); own >= 0 && !goesOn {
		messages = messages[:own]
	}
	f.audience.earlier = messages
}
