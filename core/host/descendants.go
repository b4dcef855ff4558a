package host

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The bounds of the child runs that a stream follows. Runs beyond them run as all others do:
// only their progress and their questions are not in the stream.
const (
	childrenFollowed    = 8  // children of one run, those that a call waits for first
	descendantsFollowed = 32 // runs of one stream
	depthFollowed       = 5  // levels of child runs below the stream's run
	depthWaitedFor      = 16 // the same for a call that returns a Result, which shows nothing: runs can wait in a circle
)

// lookAgain is the time between a read that fails and the next look.
const lookAgain = 5 * time.Second

// lineage is what the descendants of one follower share. It serves the follower's goroutine.
type lineage struct {
	streams *streams
	stream  *stream              // of the follower, which shows what the child runs do
	watch   *watch               // of the follower's thread: new heads of child runs wake the follower there
	owner   string               // of the follower's thread
	asked   map[core.ID][]string // as of the follower
	// quiet is for a call that returns a Result: the child runs are not shown, and only their
	// heads are read.
	quiet bool
	// timers is for the same calls: they wait for times, and a stream does not.
	timers bool

	followed int       // runs
	next     time.Time // when the next look is due without news; zero: it is not
}

// due notes that a look is due at a time. Each look starts without one, and every child run that
// needs another look notes its time again.
func (l *lineage) due(at time.Time) {
	if l.next.IsZero() || at.Before(l.next) {
		l.next = at
	}
}

// descendants follow the child runs of a run, and through them theirs: they show in the stream
// of a follower what these runs do and ask, and tell whether any of them can continue without a
// person. They read a head when its watch has a new one, and of a child run what follows from
// it, as a follower does.
//
// A failed read ends no stream: the child run is looked at again after lookAgain, or under its next
// head.
//
// They cost nothing until the run has a child run, and then a watch for each: the heads that this
// process writes come without a read, those of others with the reads of the watch's poll. The
// ids come from the head, which lists the child runs. The head of an older program does not, and
// has them in the records of its tickets alone.
type descendants struct {
	shared *lineage
	of     *follower // of the run that started them
	depth  int       // of the child runs, from 1
	call   string    // of the stream's run, that waits for all of them; empty at depth 1, where each has its own
	runs   []*descendant
	// waits has the runs of tickets, by thread.TicketKey, whose records were read.
	waits map[uint64]core.ID
}

// foreign reports whether a head is of another user's thread than that of a run whose child run is
// there. A tool may wait for any run, also for one that its model has named.
func foreign(head thread.Head, owner string) bool { return head.Owner != "" && head.Owner != owner }

// descend returns what follows the child runs of a follower's run. Its thread has the watch on, and
// the owner.
func (s *streams) descend(f *follower, on *watch, owner string) *descendants {
	shared := &lineage{streams: s, stream: f.stream, watch: on, owner: owner, asked: f.asked, quiet: f.quiet, timers: f.played}
	return &descendants{shared: shared, of: f, depth: 1}
}

// hasChildren reports whether the open run of a head has started runs that are not over, or
// waits for one.
func hasChildren(head thread.Head) bool {
	return len(head.Run.Children) > 0 || slices.ContainsFunc(head.Tickets, isChild)
}

// isChild reports whether a ticket waits for a child run.
func isChild(t thread.Ticket) bool { return t.Kind == thread.TicketChild && t.Decision == 0 }

// list returns the child runs under a head of their parent, those first that a call waits for.
func (d *descendants) list(ctx context.Context, head thread.Head) (runs []core.ID, err error) {
	// The thread may have opened another run, whose child runs are not of this stream.
	if head.Run.ID != d.of.stream.run || !hasChildren(head) {
		return nil, nil
	}
	for _, t := range head.Tickets {
		if !isChild(t) { // also a decided one: its child run is over
			continue
		}
		run, err := d.runOf(ctx, head, t)
		if err != nil {
			return runs[:min(len(runs), childrenFollowed)], err
		}
		if !run.IsZero() {
			runs = append(runs, run)
		}
	}
	for _, run := range head.Run.Children {
		if !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs[:min(len(runs), childrenFollowed)], nil
}

// runOf returns the child run that a ticket waits for; zero: the ticket names none. The head
// lists the run, else the record of the ticket names it.
func (d *descendants) runOf(ctx context.Context, head thread.Head, t thread.Ticket) (core.ID, error) {
	for _, run := range head.Run.Children {
		if thread.TicketKey(head.Run.ID, run.String()) == t.ID {
			return run, nil
		}
	}
	if run, ok := d.waits[t.ID]; ok {
		return run, nil
	}
	// The record of the ticket alone. The head is a copy, and its slices are replaced, not
	// changed.
	head.Tickets, head.Run.Calls = thread.Tickets{t}, nil
	for i, err := range d.of.source.Open(ctx, head) {
		if err != nil {
			return core.ID{}, err
		}
		run, _ := core.ParseID(i.ticket.Suspension.ID) // else the end of no run can decide it
		if d.waits == nil {
			d.waits = map[uint64]core.ID{}
		}
		d.waits[t.ID] = run
	}
	return d.waits[t.ID], nil
}

// find returns a followed child run; nil: it is not followed. There are few, so that a list does.
func (d *descendants) find(run core.ID) *descendant {
	i := slices.IndexFunc(d.runs, func(one *descendant) bool { return one.about.RunID == run })
	if i < 0 {
		return nil
	}
	return d.runs[i]
}

// recall follows the child runs whose calls the stream's request has decided. Their parent no
// longer has those that are over by now, and the client waits for what the calls have led to.
func (d *descendants) recall(ctx context.Context) error {
	for run := range d.shared.asked {
		m := d.shared.streams.mailbox
		key, dispatch, ok, err := m.Locate(ctx, d.of.key.Tenant, run)
		if err != nil || !ok {
			continue // what is left of it in the head is followed
		}
		head, err := m.Head(ctx, key)
		if err != nil {
			continue
		}
		record, ok, err := m.Run(ctx, key, head, run, dispatch)
		if err != nil || !ok || record.StartedBy == nil || record.StartedBy.RunID != d.of.stream.run {
			continue
		}
		if err := d.follow(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// showGone shows the last of the child runs that a head of their parent no longer has, before
// the stream shows what follows from their end. Its error is of the stream, or of ctx.
func (d *descendants) showGone(ctx context.Context, head thread.Head) error {
	if len(d.runs) == 0 {
		return nil
	}
	runs, err := d.list(ctx, head)
	if err != nil {
		return d.failed(ctx, "child runs cannot be read", err)
	}
	// A decided ticket, or a list without the run, means that the run's end has arrived. The watch
	// may be behind that, if another process has written it.
	for _, one := range slices.Clone(d.runs) {
		if slices.Contains(runs, one.about.RunID) {
			continue
		}
		if err := one.end(ctx); err != nil {
			return err
		}
		d.runs = slices.DeleteFunc(d.runs, func(other *descendant) bool { return other == one })
	}
	return nil
}

// look shows what is new of the child runs under a head of their parent. Its error is as of
// showGone.
func (d *descendants) look(ctx context.Context, head thread.Head) error {
	runs, err := d.list(ctx, head)
	if err != nil {
		if err := d.failed(ctx, "child runs cannot be read", err); err != nil {
			return err
		}
	}
	// First all of them, so that the stream names every child run before it waits for a slow
	// reader of the first.
	for _, run := range runs {
		if err := d.follow(ctx, run); err != nil {
			return err
		}
	}
	for _, one := range d.runs {
		if err := one.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow starts to follow a child run, within the bounds.
func (d *descendants) follow(ctx context.Context, run core.ID) error {
	l := d.shared
	if d.find(run) != nil || !l.quiet && l.followed >= descendantsFollowed {
		return nil
	}
	key, dispatch, ok, err := l.streams.mailbox.Locate(ctx, d.of.key.Tenant, run)
	if err != nil {
		return d.failed(ctx, "child run cannot be found", err)
	}
	if !ok { // a tool may wait for a run that it has not started
		return nil
	}
	// The watch is joined before the head is read, so that no write is missed in between.
	l.followed++
	one := newDescendant(d, core.ChildRun{RunID: run, ThreadID: key.Thread, Parent: d.of.stream.run}, key, dispatch)
	one.watch = l.watch.joinFor(ctx, key)
	d.runs = append(d.runs, one)
	if _, err := one.watch.newest(ctx); err != nil {
		return d.failed(ctx, "child run cannot be read", err)
	}
	return nil
}

// failed logs a failed read, and lets another look follow: no news of the run may come before it
// asks something. It returns an error only if the stream is over, or ctx.
func (d *descendants) failed(ctx context.Context, what string, err error) error {
	if audience := &d.shared.stream.audience; audience.over() {
		return audience.gone
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := d.of
	f.log.WarnContext(ctx, what, "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.stream.run, "error", err)
	if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema { // no later look can read these
		d.shared.due(f.env.Now().Add(lookAgain))
	}
	return nil
}

// rest reports whether the child runs that a waiting head waits for all wait themselves, so
// that nothing changes without a person, or before a time. The run waits for child runs alone.
func (d *descendants) rest(head thread.Head) bool {
	// A child run that is not followed, because it is beyond the bounds or cannot be read, counts
	// as one that works: a stream that stays open too long is less wrong than one that ends.
	for _, t := range head.Tickets {
		if !isChild(t) {
			continue
		}
		i := slices.IndexFunc(d.runs, func(one *descendant) bool {
			return thread.TicketKey(head.Run.ID, one.about.RunID.String()) == t.ID
		})
		if i < 0 || !d.runs[i].rests() {
			return false
		}
	}
	return true
}

// end shows the last of all child runs: their parent's stream ends. Child runs of the background
// may go on, and are shown as they are now.
func (d *descendants) end(ctx context.Context) error {
	for _, one := range d.runs {
		if err := one.end(ctx); err != nil {
			return err
		}
	}
	d.runs = nil
	return nil
}

// quit ends the following.
func (d *descendants) quit() {
	runs := d.runs
	d.runs = nil
	for _, one := range runs {
		one.quit()
	}
}
