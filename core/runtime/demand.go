package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// renewMark is how much of a mark may be left when it is renewed.
const renewMark = 15 * time.Second

// ask sees to it that the run is marked: the process that infers under a head stores what
// its model says. One mark serves all who follow, so that it is read before it is left. What
// fails is tried again with the next look: the log has the turn when it is committed.
func (f *follower) ask(ctx context.Context, head thread.Head) {
	u, now := &f.unsaid, f.env.Millis()
	if u.marked-now >= renewMark.Milliseconds() || !f.demands() {
		return
	}
	if mark, err := run.FindMark(ctx, f.store, f.records, f.key); err == nil && f.heeds(mark, now) {
		return
	}
	mark := run.Mark{Run: f.run, Until: now + run.MarkLife.Milliseconds()}
	record, err := mark.Record(f.records, head)
	if err == nil {
		err = f.store.Put(ctx, f.key, record)
	}
	if _, refused := errors.AsType[*store.RefusedError](err); refused {
		f.askAgain(ctx, head, err)
		return
	}
	u.marked = mark.Until
	if err != nil {
		u.marked = now + (renewMark + time.Second).Milliseconds() // a second until the next try
	}
}

// heeds reports whether a mark that is there serves this follower, and notes until when.
// One that lasts longer than a mark can is of a clock that goes wrong.
func (f *follower) heeds(mark run.Mark, now int64) bool {
	left := mark.Until - now
	if mark.Run != f.run || left < renewMark.Milliseconds() || left > run.MarkLife.Milliseconds() {
		return false
	}
	f.unsaid.marked = mark.Until
	return true
}

// askAgain is for a mark that another stands in the way of, which the read before it has
// not shown, or that was left beside the same version of the head: then the head is moved
// on, as for any record that is rewritten.
func (f *follower) askAgain(ctx context.Context, head thread.Head, refused error) {
	if record, ok, err := f.store.Get(ctx, f.key, store.FollowName); err == nil && ok {
		var mark run.Mark
		if f.records.Decode("follow mark", record.Payload, &mark) == nil && f.heeds(mark, f.env.Millis()) {
			return
		}
	}
	if !errors.Is(refused, store.ErrConflict) {
		return // beside a later head, which the watch will bring
	}
	if stored, err := f.mailbox.Head(ctx, f.key); err == nil && stored.Version == head.Version {
		_, _, _ = f.mailbox.Commit(ctx, f.key, stored, thread.Touch{}, nil) // the next look leaves the mark beside that
	}
}

// demands reports whether a mark changes anything: not where the agent says itself what
// is stored. The run may be pinned to another spec of it, which costs a mark or a delay.
func (f *follower) demands() bool {
	resolved, err := f.agents.Resolve(f.record.AgentID)
	return err != nil || resolved.Spec.Events == ""
}
