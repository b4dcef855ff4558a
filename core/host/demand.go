package host

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// renewMark is the life that a mark must have left; with less it is renewed.
const renewMark = 15 * time.Second

// demand asks the process that infers a run to store what the model says: it leaves a
// mark (live.Mark) in the thread. One mark serves all followers of the run, so a follower
// reads it before it writes one. A failure is retried at the next look: the log has the
// turn when it is committed.
type demand struct {
	env     *env.Env
	store   store.Backend
	records thread.Records
	mailbox *mailbox.Service
	agents  *registry.Registry
	key     core.ThreadKey
	run     core.ID
	until   int64 // when the known mark ends, unix milliseconds; no look before renewMark of that
}

// ask ensures that the run is marked, under a head and for a run of an agent.
func (d *demand) ask(ctx context.Context, head thread.Head, agent string) {
	// Nothing is read as long as the known mark lasts, or the agent needs none.
	now := d.env.Millis()
	if d.until-now >= renewMark.Milliseconds() || !d.matters(head, agent) {
		return
	}
	if mark, _ := live.FindMark(ctx, d.store, d.records, d.key); d.heeds(mark, now) {
		return
	}
	// No mark, one that cannot be read, one of another run, or one that ends soon: this
	// follower leaves the next.
	mark := live.Mark{Run: d.run, Until: now + live.MarkLife.Milliseconds()}
	record, err := mark.Record(d.records, head)
	if err == nil {
		err = d.store.Put(ctx, d.key, record)
	}
	// A mark is written once for each version of the head. A refused one means that another
	// follower was first, or that the head has moved.
	if _, refused := errors.AsType[*store.RefusedError](err); refused {
		d.makeRoom(ctx, head, err)
		return
	}
	d.until = mark.Until
	if err != nil {
		d.until = now + (renewMark + time.Second).Milliseconds() // a second until the next attempt
	}
}

// heeds reports whether a stored mark serves this follower, and notes until when. A mark
// that outlives live.MarkLife comes from a wrong clock.
func (d *demand) heeds(mark live.Mark, now int64) bool {
	left := mark.Until - now
	if mark.Run != d.run || left < renewMark.Milliseconds() || left > live.MarkLife.Milliseconds() {
		return false
	}
	d.until = mark.Until
	return true
}

// makeRoom handles a mark that the store has refused: because of another mark that the
// read before did not show, or one that was left under the same version of the head. In
// the second case the head is rewritten, as for any record that is rewritten.
func (d *demand) makeRoom(ctx context.Context, head thread.Head, refused error) {
	record, _, _ := d.store.Get(ctx, d.key, recordname.Follow) // a record that cannot be read is not a mark
	var mark live.Mark
	if d.records.Decode("follow mark", record.Payload, &mark) == nil && d.heeds(mark, d.env.Millis()) {
		return
	}
	if !errors.Is(refused, store.ErrConflict) {
		return // left under a later head, which the watch will bring
	}
	if stored, err := d.mailbox.Head(ctx, d.key); err == nil && stored.Version == head.Version {
		_, _, _ = d.mailbox.Commit(ctx, d.key, stored, thread.Touch{}, nil) // the next look leaves the mark under that head
	}
}

// matters reports whether a mark changes anything. It does while the model fails: a run that
// no stream follows waits longer for it, see agent.Retry. Otherwise it does not if the agent's
// spec decides itself which events are stored. The run may be pinned to another spec of the
// agent; the cost is a mark too many, or words that come with their commit.
func (d *demand) matters(head thread.Head, agent string) bool {
	if head.FailingSince() != 0 {
		return true
	}
	resolved, err := d.agents.Resolve(agent)
	return err != nil || resolved.Spec.Events == ""
}
