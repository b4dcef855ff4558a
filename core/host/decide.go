package host

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Decide decides a suspended call of a run, or, if Deciding's Run is another one, of a run that
// it has started, directly or through others; it fills in Deciding's Run and User. It does not
// wait for the outcome: the run continues in the queue. Its errors are
// mailbox.Service.Decide's, but a run of another user is core.CodeNotFound, and so is one that
// the run has not started.
func (r *Host) Decide(ctx context.Context, id core.Identity, runID core.ID, d mailbox.Deciding) (mailbox.Decided, error) {
	id.Tenant = r.reads.tenantOf(id)
	if !d.Run.IsZero() && d.Run != runID {
		return r.decideChild(ctx, id, d, "run "+runID.String(), func(p core.RunParent) bool { return p.RunID == runID })
	}
	key, _, ok, err := r.mailbox.Locate(ctx, id.Tenant, runID)
	if err != nil {
		return mailbox.Decided{}, err
	}
	if !ok {
		return mailbox.Decided{}, core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	d.Run, d.User = runID, id.User
	decided, err := r.mailbox.Decide(ctx, key, d)
	return decided, hidden(err, "run", runID.String())
}

// DecideThread is Decide for the open run of a thread, or for a run that a run of the thread has
// started, if Deciding's Run is one.
func (r *Host) DecideThread(ctx context.Context, id core.Identity, threadID string, d mailbox.Deciding) (mailbox.Decided, error) {
	id.Tenant = r.reads.tenantOf(id)
	key := core.ThreadKey{Tenant: id.Tenant, Thread: threadID}
	if err := key.Check(); err != nil {
		return mailbox.Decided{}, err
	}
	d.User = id.User
	decided, err := r.mailbox.Decide(ctx, key, d)
	if core.CodeOf(err) == core.CodeNotFound && !d.Run.IsZero() {
		from := func(p core.RunParent) bool { return p.ThreadID == threadID }
		if child, failed := r.decideChild(ctx, id, d, "a run of thread "+threadID, from); core.CodeOf(failed) != core.CodeNotFound {
			return child, failed
		}
	}
	return decided, hidden(err, "thread", threadID)
}

// accepts is mailbox.Options.Accepts. The tool is that of the agent to which the run is
// pinned. If the store or this build cannot resolve it, the arguments are checked only when
// the call runs, perhaps by another build.
func accepts(agents *pins.Pins) func(context.Context, thread.RunRecord, string, json.RawMessage) error {
	return func(ctx context.Context, r thread.RunRecord, name string, arguments json.RawMessage) error {
		// A run is pinned by its first commit, which a call that waits comes after. One
		// without a pin must not be pinned here: that is for the worker that opens it.
		if r.Resolution == "" {
			return nil
		}
		found, err := agents.Resolve(ctx, r.AgentID, r.Resolution)
		// This proves nothing about the arguments. The worker that resumes the call checks them
		// with the agent that it resolves.
		if err != nil {
			return ctx.Err()
		}
		// The tools of the run's frontend are not the agent's, but a gate may ask about
		// a call of one.
		t, ok := found.WithFrontend(r.Frontend).Tools[name]
		if !ok {
			return nil
		}
		// Prepare checks without running the tool. A panic of the check is an error here as it
		// is when the call runs, and its text is not shown.
		if _, err := toolrun.Prepare(t, arguments); err != nil {
			return core.Errorf(core.CodeInvalid, "arguments: %s", toolcall.Complaint(err))
		}
		return nil
	}
}

// decisions are those of one request, after they were taken. The head after the last
// decision tells whether the run can continue, the head after the first one what the client
// had been shown when it decided.
type decisions struct {
	run     core.ID
	decided []mailbox.Decided // those that were accepted, in the order given
	// waits has for each of them the call of the run that it is on, or that waits for the child
	// run that it is on. asked are the calls of child runs, by run.
	waits []mailbox.Decided
	asked map[core.ID][]string
	// head is the head after the last decision.
	head thread.Head
	// first is the head after the first decision that was new; it does not exist if all were
	// duplicates.
	first thread.Head
}

// add notes a decision that was taken. For one on a call of a child run the thread's head is
// unchanged by it, and shows what the client had seen all the same: its stream had ended because
// nothing changed any more.
func (d *decisions) add(one decidedOne) {
	if !one.decided.Duplicate && !d.first.Exists() {
		d.first = one.head
	}
	d.run, d.head = one.wait.RunID, one.head
	d.decided, d.waits = append(d.decided, one.decided), append(d.waits, one.wait)
	if one.told {
		if d.asked == nil {
			d.asked = map[core.ID][]string{}
		}
		d.asked[one.decided.RunID] = append(d.asked[one.decided.RunID], one.decided.CallID)
	}
}

// decideAll takes decisions for a caller that claims the thread next: they have no hints. A
// caller that does not claim must call wakeNow.
//
// Each decision is a separate write, in the order given. The first that is refused ends
// the request, and those before it are taken: then decideAll wakes the thread itself, since
// no stream will claim it.
func (w *worker) decideAll(ctx context.Context, id core.Identity, key core.ThreadKey, all []mailbox.Deciding) (taken decisions, err error) {
	if len(all) == 0 {
		return taken, core.Errorf(core.CodeInvalid, "there is no decision")
	}
	// All are on calls of one run, or of runs that descend from it: that of the first decision,
	// which the mailbox finds if the decision does not name it.
	for _, d := range all {
		if d.User = id.User; d.Run.IsZero() {
			d.Run = taken.run // of the decision before; zero for the first means the thread's open run
		}
		one, failed := w.decideOne(ctx, id, key, taken.run, d)
		if failed != nil {
			err = hidden(failed, "thread", key.Thread)
			break
		}
		taken.add(one)
	}
	if err != nil {
		w.wakeNow(ctx, key, taken.head) // the zero head, if none was taken, lets no run continue
	}
	return taken, err
}
