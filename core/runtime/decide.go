package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// Decide takes a decision on a suspended call of a run: Deciding's Run and User
// are filled in. Its errors are mailbox.Service.Decide's, but for a run that
// belongs to another user, which is core.CodeNotFound. It does not wait for what
// comes of it: the run goes on in the queue.
func (r *Runtime) Decide(ctx context.Context, id core.Identity, runID core.ID, d mailbox.Deciding) (mailbox.Decided, error) {
	key, _, ok, err := r.mailbox.Locate(ctx, r.tenantOf(id), runID)
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

// DecideThread is Decide for the open run of a thread.
func (r *Runtime) DecideThread(ctx context.Context, id core.Identity, threadID string, d mailbox.Deciding) (mailbox.Decided, error) {
	key := core.ThreadKey{Tenant: r.tenantOf(id), Thread: threadID}
	if err := key.Check(); err != nil {
		return mailbox.Decided{}, err
	}
	d.User = id.User
	decided, err := r.mailbox.Decide(ctx, key, d)
	return decided, hidden(err, "thread", threadID)
}

// decisions are those of one request, when they are taken. Of the two heads, last
// and first, the one says whether the run can go on, the other what the client had
// been shown when it decided.
type decisions struct {
	run     core.ID
	decided []mailbox.Decided
	head    thread.Head // after the last
	first   thread.Head // after the first that was new; not there when none was
}

// decideAll takes the decisions. Their hints come after a lease, since the caller
// claims next; where it will not, the thread is woken at once.
//
// They are taken one by one, each in a write of its own, in the order given: the
// first that is refused ends it, and what was taken stands. So nothing may be lost
// there: the thread is woken for those before it, since no stream will claim it.
func (r *Runtime) decideAll(ctx context.Context, id core.Identity, key core.ThreadKey, all []mailbox.Deciding) (a decisions, err error) {
	if len(all) == 0 {
		return a, core.Errorf(core.CodeInvalid, "there is no decision")
	}
	for _, d := range all {
		if d.User = id.User; d.Run.IsZero() {
			d.Run = a.run // of the first, which may name none either: the thread's open run is meant
		}
		if !a.run.IsZero() && d.Run != a.run {
			err = core.Errorf(core.CodeInvalid, "the decisions are on calls of several runs")
			break
		}
		decided, head, failed := r.mailbox.DecideInline(ctx, key, d)
		if failed != nil {
			err = hidden(failed, "thread", key.Thread)
			break
		}
		if !decided.Duplicate && !a.first.Exists() {
			a.first = head
		}
		a.run, a.head = decided.RunID, head
		a.decided = append(a.decided, decided)
	}
	if err != nil && len(a.decided) > 0 {
		r.wakeNow(ctx, key, a.head)
	}
	return a, err
}
