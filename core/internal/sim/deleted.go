package sim

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// deleted is when a client deletes the first thread of a world with Deletes. It takes no
// draw, so that the worlds of a seed stay the same.
func (w *World) deleted() time.Duration { return time.Duration(w.config.Seed%97) * 3 * time.Second }

// deleteThread insists on the end of a thread.
func (pe *people) deleteThread(th *threadState) {
	pe.insist(requestTimeout, func(ctx context.Context, h *host) bool {
		err := h.engine.runtime.DeleteThread(ctx, th.client(), th.p.key.Thread, mailbox.ChildrenDetach)
		return err == nil || refused(err)
	})
}

// deleteReceiver deletes some threads to which a message is on its way, in a world where threads
// are deleted.
func (pe *people) deleteReceiver(l *letter) {
	to := pe.w.storage.byKey[core.ThreadKey{Tenant: l.from.p.key.Tenant, Thread: l.to}]
	if pe.w.config.People.Deletes && pe.w.now < pe.w.stop && trait(l.text, 99, 4) == 0 {
		pe.deleteThread(to.state)
	}
}

// checkDeleted: a tombstone has the fence and the log's end of the thread, a new epoch,
// and nothing that a worker could continue; it stays. When it is marked as erased,
// nothing of the thread is left.
func (th *threadState) checkDeleted(a, b *thread.Head) {
	if b.Open() || b.Claim.Fence != 0 || len(b.Unopened()) > 0 || len(b.Tickets) > 0 || len(b.Inbox) > 0 {
		th.fail("a deleted thread has work: %+v", *b)
	}
	if !a.Deleted {
		th.w.Stats.Clients.Deletes++
		if b.Epoch != a.Epoch+1 || b.Fence != a.Fence || b.Seq != a.Seq || b.Erased {
			th.fail("the delete leaves %+v, the head was %+v", *b, *a)
		}
		return
	}
	if b.Epoch != a.Epoch || b.Fence != a.Fence || b.Seq != a.Seq || a.Erased {
		th.fail("a deleted thread changes from %+v to %+v", *a, *b)
	}
	if b.Erased {
		th.checkErased()
	}
}

// checkErased: nothing is left of a deleted thread but its head, when no worker that knew
// it can live any more.
func (th *threadState) checkErased() {
	left := len(th.p.records)
	if left > 0 || slices.ContainsFunc(th.p.log, func(r store.Record) bool { return r.Name != "" }) {
		th.fail("the thread is erased, and still has %d records outside of its log", left)
	}
}
