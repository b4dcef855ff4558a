package host

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// childEvery is the time between two updates of a child run in a stream, if its status has not
// changed, and between two looks at what its model says.
const childEvery = 500 * time.Millisecond

// descendant is a child run that a stream follows. A follower shows its run to progress, which
// shows the stream of the parent what is in it.
type descendant struct {
	in       *descendants
	about    core.ChildRun
	follower *follower
	progress progress
	watch    *watch
	head     thread.Head // the last that was looked at
	heard    time.Time   // when its words were looked for
	below    descendants // that it has started
	over     bool        // it is done, and its last was shown
}

// newDescendant returns a child run that nothing is known of yet.
func newDescendant(in *descendants, about core.ChildRun, key core.ThreadKey, dispatch core.ID) *descendant {
	l := in.shared
	one := &descendant{in: in, about: about}
	one.progress = progress{shared: l, about: &one.about, call: in.call, asked: l.asked[about.RunID]}
	shows := newStream(l.streams.env, about.RunID, &one.progress)
	one.follower = l.streams.follower(key, dispatch, shows)
	one.below = descendants{shared: l, of: one.follower, depth: in.depth + 1}
	return one
}

// deepest is how many levels of child runs are followed.
func (l *lineage) deepest() int {
	if l.quiet {
		return depthWaitedFor
	}
	return depthFollowed
}

// look shows what is new of the run, under the newest head that its watch has. Its error is
// as of descendants.settle.
func (one *descendant) look(ctx context.Context) error {
	if one.over {
		return nil
	}
	head, err := one.watch.newer(one.head)
	if err != nil || !head.Exists() { // its watch has ended, or has not read it; either was logged
		return nil
	}
	if err := one.show(ctx, head); err != nil {
		return err
	}
	return one.update(ctx)
}

// show shows a head, and what the run says under it.
func (one *descendant) show(ctx context.Context, head thread.Head) error {
	one.head = head
	if one.below.depth <= one.in.shared.deepest() {
		if err := one.below.settle(ctx, head); err != nil {
			return err
		}
	}
	if !one.in.shared.quiet {
		if err := one.showRun(ctx, head); err != nil {
			return one.in.failed(ctx, "child run cannot be shown", err)
		}
	}
	if one.below.depth > one.in.shared.deepest() {
		return nil
	}
	one.below.call = one.progress.call
	return one.below.look(ctx, head)
}

// showRun lets the follower show the run to progress.
func (one *descendant) showRun(ctx context.Context, head thread.Head) error {
	f, now := one.follower, one.in.shared.streams.env.Now()
	record, over, err := f.show(ctx, head)
	if err != nil {
		return err
	}
	one.learn(record)
	if err := one.showDecided(ctx, head); err != nil {
		return err
	}
	if over && record.Status == core.RunDone {
		one.over = true
		_ = f.stream.replayer.Finish(record) // the stream's audience keeps its error
		return nil
	}
	if next := one.heard.Add(childEvery); now.Before(next) {
		one.in.shared.due(next)
		return nil
	}
	speaks, err := f.unsaid.now(ctx, head, record.AgentID)
	if speaks {
		one.heard = now
		one.in.shared.due(now.Add(childEvery))
	}
	return err
}

// showDecided shows that a call which was shown to wait is decided.
func (one *descendant) showDecided(ctx context.Context, head thread.Head) error {
	for _, t := range head.Tickets {
		if t.Decision == 0 || !one.progress.open[t.ID] {
			continue
		}
		delete(one.progress.open, t.ID)
		only := head
		only.Tickets, only.Run.Calls = thread.Tickets{t}, nil
		for i, err := range one.follower.source.Open(ctx, only) {
			if err != nil {
				return err
			}
			if err := one.progress.decided(i.ticket); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn notes what the record of the run has.
func (one *descendant) learn(record core.Run) {
	one.progress.status, one.about.AgentID = record.Status, record.AgentID
	if p := record.StartedBy; p != nil {
		one.about.ParentCall = p.ToolCallID
	}
	if one.in.depth == 1 {
		one.progress.call = one.about.ParentCall
	}
}

// update shows the progress, if it has changed and an update is due.
func (one *descendant) update(ctx context.Context) error {
	l, p := one.in.shared, &one.progress
	if l.quiet || p.status == "" { // its run could not be read
		return nil
	}
	now := l.streams.env.Now()
	if next := p.shownAt.Add(childEvery); p.status == p.shown.Status && now.Before(next) {
		if p.changed {
			l.due(next)
		}
		return nil
	}
	if !p.changed && p.status == p.shown.Status {
		return nil
	}
	if err := l.stream.ready(ctx); err != nil {
		return err
	}
	return p.show(now)
}

// end shows the last of the run and no longer follows it: its parent does not wait for it any
// more, so that it is over, or soon will be.
func (one *descendant) end(ctx context.Context) error {
	defer one.quit()
	if one.over || one.in.shared.quiet {
		return nil
	}
	head, err := one.watch.newest(ctx)
	if err != nil {
		return one.in.failed(ctx, "child run cannot be read", err)
	}
	if err := one.show(ctx, head); err != nil {
		return err
	}
	if err := one.below.end(ctx); err != nil {
		return err
	}
	one.progress.shownAt = time.Time{} // the last update is due
	return one.update(ctx)
}

// quit no longer follows the run, nor those that it has started. A second quit does nothing: an
// error ends the following in the middle of an end.
func (one *descendant) quit() {
	watch := one.watch
	if watch == nil {
		return
	}
	one.watch = nil
	one.in.shared.followed--
	one.below.quit()
	one.in.shared.watch.quitFor(watch)
}

// rests reports whether the run waits, and nothing changes it but a person, or a time.
func (one *descendant) rests() bool {
	head := one.head
	if _, pending := head.RunStatus(one.about.RunID); !pending || head.Run.Status != thread.Waiting {
		return false
	}
	// A run that is queued after another waits for what that one waits for.
	if head.Run.ID != one.about.RunID {
		if other := one.in.find(head.Run.ID); other != nil {
			return other.rests()
		}
	}
	if !head.Tickets.AwaitChildren() {
		return !one.in.shared.timers || !head.Tickets.AwaitNobody()
	}
	return head.Run.ID == one.about.RunID && one.below.rest(head)
}
