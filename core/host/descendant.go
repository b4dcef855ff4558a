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

// A child run is followed like any other run, by a follower of its own. What differs is its
// listener: progress sums the events up and shows the sum, since the client has asked for the
// parent's run. A client that wants each event follows the child's own stream.
//
// The order within one look matters. The runs below a child are settled before the child shows
// its head, since what the head has may follow from their ends; and they are looked at after it,
// since the head may have started them.

// descendant is a child run that a stream follows. A follower shows its run to progress, which
// shows the stream of the parent what is in it.
//
// The follower is the same as that of a client which follows the child run itself, without the
// state: it replays the run from its first record, once. What it knows is then kept up with the
// records of each new head, and with the model's words. So text, tools, steps and usage are those
// of the child's own stream, also after a step that is void.
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

// deepest is how many levels of child runs are followed. A call that returns a Result looks deeper
// than a stream shows: it must not wait for ever.
func (l *lineage) deepest() int {
	if l.quiet {
		return depthWaitedFor
	}
	return depthFollowed
}

// look shows what is new of the run, under the newest head that its watch has. Its error is
// as of descendants.showGone.
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
	// The runs below come first as far as they have ended, so that the reader is shown their end
	// before what follows from it; then the run, then what is new below.
	one.head = head
	if foreign(head, one.in.shared.owner) {
		return nil
	}
	if one.below.depth <= one.in.shared.deepest() {
		if err := one.below.showGone(ctx, head); err != nil {
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
	// A run that waits is not over for this stream: its parent waits for what comes after that.
	one.learn(record)
	if err := one.showDecided(ctx, head); err != nil {
		return err
	}
	if over && record.Status == core.RunDone {
		one.over = true
		_ = f.stream.replayer.Finish(record) // the stream's audience keeps its error
		return nil
	}
	// The words of a model are read on an interval, also those of this process: an update is not
	// shown earlier, and each word would wake the stream.
	if next := one.heard.Add(childEvery); now.Before(next) {
		one.in.shared.due(next)
		return nil
	}
	speaks, err := f.unsaid.now(ctx, head, record.AgentID)
	switch {
	case speaks:
		one.heard = now
		one.in.shared.due(now.Add(childEvery))
	case head.FailingSince() != 0: // the mark that a stream follows is renewed
		one.in.shared.due(now.Add(renewMark))
	}
	return err
}

// showDecided shows that a call which was shown to wait is decided. The log of a run says nothing
// of that, and a follower shows only undecided tickets: what the head has of a decision is read
// here, once, until the result takes its place.
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
	// The record of a queued run has all of these, from its input.
	one.progress.status, one.about.AgentID = record.Status, record.AgentID
	if p := record.StartedBy; p != nil {
		one.about.ParentCall = p.ToolCallID
	}
	if one.in.depth == 1 {
		one.progress.call = one.about.ParentCall
	}
}

// update shows the progress, if it has changed and an update is due. It is not shown sooner than its
// reader takes it.
func (one *descendant) update(ctx context.Context) error {
	l, p := one.in.shared, &one.progress
	if l.quiet || p.status == "" { // its run could not be read
		return nil
	}
	// A change of the status is shown immediately. Anything else waits for its time, and the stream
	// is woken for it.
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
	// A read, since the watch may be behind: this is the last that the stream shows of the run.
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

// rests reports whether the run waits, and nothing changes it but a person, or a time. For a call
// that waits for times, a time is no rest.
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
