package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A call of a child run that waits is decided through the run that clients know: the one whose
// stream or thread they read. The decision names the child run, and is a decision on its thread.
//
// The record of a child run names its parent, so that the way from the child run upwards shows
// whether the decision may come through a run. The owner is checked on each thread on the way,
// and again in the write.

// descent is how a run descends from another.
type descent struct {
	key   core.ThreadKey // of the run
	above core.RunParent // the run that it descends from, with the call that started first
	first core.ID        // the child run of above that the run is, or descends from
}

// descends finds how a run descends from one that is as above says. ok is false if it does not,
// or the caller may not read it.
func descends(ctx context.Context, m *mailbox.Service, id core.Identity, run core.ID, above func(core.RunParent) bool) (d descent, ok bool, err error) {
	// Tools could make runs wait in a circle, so that the way is bounded.
	at := run
	for range depthWaitedFor {
		key, dispatch, ok, err := m.Locate(ctx, id.Tenant, at)
		if err != nil || !ok {
			return d, false, err
		}
		head, err := m.Head(ctx, key)
		if err != nil || !head.Exists() || head.Deleted || !readable(id, head) {
			return d, false, err
		}
		record, ok, err := m.Run(ctx, key, head, at, dispatch)
		if err != nil || !ok || record.StartedBy == nil {
			return d, false, err
		}
		if at == run {
			d.key = key
		}
		if d.above, d.first = *record.StartedBy, at; above(d.above) {
			return d, true, nil
		}
		at = d.above.RunID
	}
	return d, false, nil
}

// decideChild decides a call of a run that descends from one that is as above says. what names
// that one in errors.
func (r *Host) decideChild(ctx context.Context, id core.Identity, d mailbox.Deciding, what string, above func(core.RunParent) bool) (mailbox.Decided, error) {
	found, ok, err := descends(ctx, r.mailbox, id, d.Run, above)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s was not started by %s, or by a run that it has started", d.Run, what)
	}
	if err != nil {
		return mailbox.Decided{}, err
	}
	d.User = id.User
	decided, err := r.mailbox.Decide(ctx, found.key, d)
	return decided, hidden(err, "run", d.Run.String())
}

// decidedOne is a decision of a request after it was taken.
type decidedOne struct {
	decided mailbox.Decided
	// wait is decided, or for a call of a child run the call of the thread's run that waits for
	// that. Its Turn is 0 if the call no longer waits.
	wait mailbox.Decided
	head thread.Head // of the thread
	told bool        // a hint brings what comes next: it is the child run's
}

// decideOne decides a call of the thread's run, or of one that descends from it. run is that of
// the decisions before; zero: there was none.
func (w *worker) decideOne(ctx context.Context, id core.Identity, key core.ThreadKey, run core.ID, d mailbox.Deciding) (one decidedOne, err error) {
	if run.IsZero() || d.Run == run {
		one.decided, one.head, err = w.mailbox.DecideInline(ctx, key, d)
		one.wait = one.decided
		if core.CodeOf(err) != core.CodeNotFound || d.Run.IsZero() {
			return one, err
		}
	}
	id.Tenant = key.Tenant
	found, ok, failed := descends(ctx, w.mailbox, id, d.Run, func(p core.RunParent) bool {
		return p.ThreadID == key.Thread && (run.IsZero() || p.RunID == run)
	})
	switch {
	case failed != nil:
		return one, failed
	case !ok && err == nil:
		return one, core.Errorf(core.CodeInvalid, "the decisions are on calls of several runs")
	case !ok:
		return one, err
	}
	// With a hint: this stream claims its own thread, and leaves the child run to workers.
	if one.decided, err = w.mailbox.Decide(ctx, found.key, d); err != nil {
		return one, err
	}
	one.head, err = w.mailbox.Head(ctx, key)
	one.told, one.wait = true, one.waitFor(key, found)
	return one, err
}

// waitFor returns the call of the thread's run that waits for the child run, or for the child run
// that has started it. The stream begins after the turn of that call, as after a decision on it.
func (one *decidedOne) waitFor(key core.ThreadKey, d descent) mailbox.Decided {
	wait := mailbox.Decided{
		ThreadID: key.Thread, RunID: d.above.RunID, CallID: d.above.ToolCallID, SuspensionID: d.first.String(), Duplicate: one.decided.Duplicate,
	}
	for _, t := range one.head.Tickets {
		if isChild(t) && t.ID == thread.TicketKey(wait.RunID, wait.SuspensionID) {
			wait.Turn, wait.Index = one.head.Run.Base-1, int(t.Call)
		}
	}
	return wait
}
