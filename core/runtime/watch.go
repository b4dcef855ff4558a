package runtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
)

// watches share what is known of threads among all who follow them in this
// process: one watch per thread, from the first follower to the last.
//
// A watch learns of a new head in two ways. Every head that this process writes
// is offered to it at once, by the mailbox. And it reads the head on an interval,
// for what other processes write; where there are none, that may be long.
//
// Heads may come in any order: a writer is told of its success, and tells the
// watch, while a later writer is already past it, and a read may have been under
// way meanwhile. Their versions say which is the newest, so no order is kept and
// nobody waits for anybody: moved holds the lock for as long as a comparison takes.
//
// A follower that is slow misses heads in between, never the last one: a head says
// all that those before it said, and the log has the rest.
type watches struct {
	env      *env.Env
	read     func(context.Context, core.ThreadKey) (thread.Head, error)
	interval time.Duration
	log      *slog.Logger

	mu      sync.Mutex // guards threads and every watch in it; not held over I/O
	threads map[core.ThreadKey]*watch
}

// watch is the newest head of a thread that is known here.
type watch struct {
	watches   *watches
	key       core.ThreadKey
	followers int
	group     *env.Group // of the function that reads; the last follower waits for it. nil: nobody has waited yet

	head    thread.Head
	offers  uint64        // how often it has changed, so that a read knows whether one came beside it
	words   uint64        // how often something was said of its run in this process
	failed  error         // the head cannot be read, for good
	changed chan struct{} // closed with the next news; nil: nobody waits
}

// maxUnread is how many reads in a row may fail until the followers are told: the
// first may be a throttled store, which is better left alone than asked again by
// every client that was sent away.
const maxUnread = 3

func newWatches(e *env.Env, read func(context.Context, core.ThreadKey) (thread.Head, error), interval time.Duration, log *slog.Logger) *watches {
	return &watches{env: e, read: read, interval: interval, log: log, threads: map[core.ThreadKey]*watch{}}
}

// join begins to follow a thread, until quit. Whoever joins reads the head afterwards,
// by newest: what was written before is seen there, what is written later told.
func (w *watches) join(key core.ThreadKey) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.threads[key]
	if at == nil {
		at = &watch{watches: w, key: key}
		w.threads[key] = at
	}
	at.followers++
	return at
}

// quit ends a join. The last one waits until nothing reads any more, so that no
// function outlives the invocation that it belongs to.
func (a *watch) quit() {
	a.watches.mu.Lock()
	a.followers--
	last := a.followers == 0
	if last { // whoever joins from here on begins another watch, beside what is left of this one
		a.retire()
	}
	a.watches.mu.Unlock() // poll takes it, and is waited for
	// Read without the lock: only a follower sets group, and all of them have left.
	if last && a.group != nil {
		a.group.Cancel()
		_ = a.group.Wait() // poll tells its failures to the followers
	}
}

// retire makes whoever joins from here on begin another watch, beside what is left
// of this one. The caller holds mu.
func (a *watch) retire() {
	if a.watches.threads[a.key] == a {
		delete(a.watches.threads, a.key)
	}
}

// moved is mailbox.Options.Moved: it costs a look into a map when nobody follows.
func (w *watches) moved(key core.ThreadKey, head thread.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.threads[key]; at != nil {
		at.learn(head)
	}
}

// spoke is run.Options.Said.
func (w *watches) spoke(key core.ThreadKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.threads[key]; at != nil {
		at.words++
		at.signal()
	}
}

// spoken counts what was said in this process.
func (a *watch) spoken() uint64 {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	return a.words
}

// learn takes a head that was written or read by someone who may be late: an older
// one says nothing. The caller holds mu.
func (a *watch) learn(head thread.Head) {
	newer := head.Version > a.head.Version
	if head.Incarnation != a.head.Incarnation {
		newer = head.Incarnation > a.head.Incarnation
	}
	if newer {
		a.set(head)
	}
}

// set makes a head the newest; the caller holds mu.
func (a *watch) set(head thread.Head) {
	a.head = head
	a.offers++
	a.signal()
}

// signal wakes those who wait; the caller holds mu.
func (a *watch) signal() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// newest reads the head. The read is outside the lock, so a write may overtake it;
// what is returned is the newer of the two.
func (a *watch) newest(ctx context.Context) (thread.Head, error) {
	head, err := a.watches.read(ctx, a.key)
	if err != nil {
		return head, err
	}
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	a.learn(head)
	return a.head, nil
}

// after returns the newest head as soon as it is another than seen. The error is
// the cause of ctx's end, or why the head cannot be read.
func (a *watch) after(ctx context.Context, seen thread.Head) (thread.Head, error) {
	for {
		head, changed, err := a.look(ctx, seen)
		switch {
		case ctx.Err() != nil: // also when there is always something new
			return seen, context.Cause(ctx)
		case err != nil || changed == nil:
			return head, err
		}
		if err := a.watches.env.Wait(ctx, changed); err != nil {
			return seen, err
		}
	}
}

// afterWords is after, but for words as well: more was said than spoken had counted.
func (a *watch) afterWords(ctx context.Context, seen thread.Head, spoken uint64) (thread.Head, error) {
	for {
		head, changed, err := a.look(ctx, seen)
		switch {
		case ctx.Err() != nil:
			return seen, context.Cause(ctx)
		case err != nil || changed == nil || a.spoken() != spoken:
			return head, err
		}
		if err := a.watches.env.Wait(ctx, changed); err != nil {
			return seen, err
		}
	}
}

// look returns the head if it is another than seen, and otherwise what is closed
// with the next news: made under the lock that they come under, so that none falls
// in between. The first who has to wait starts the reading, with its context's
// values but not its end: it may leave before the others.
func (a *watch) look(ctx context.Context, seen thread.Head) (head thread.Head, changed <-chan struct{}, err error) {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	switch {
	case a.failed != nil:
		return seen, nil, a.failed
	case a.head.Version != seen.Version || a.head.Incarnation != seen.Incarnation:
		return a.head, nil, nil
	case a.group == nil:
		a.group, _ = a.watches.env.Group(context.WithoutCancel(ctx))
		a.group.Go(a.poll)
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return seen, a.changed, nil
}

// poll reads the head on the interval until the last follower leaves. A failed read
// changes nothing: the head that is known is still the newest that is known.
func (a *watch) poll(ctx context.Context) error {
	w := a.watches
	for unread := 0; w.env.Sleep(ctx, w.interval) == nil; {
		w.mu.Lock()
		offers := a.offers
		w.mu.Unlock()
		var head thread.Head
		err := env.Protect(func() (err error) { // a panic must not leave the followers waiting for nobody
			head, err = w.read(ctx, a.key)
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			unread = 0
			a.polled(head, offers)
			continue
		}
		w.log.WarnContext(ctx, "a followed thread cannot be read", "tenant", a.key.Tenant, "thread", a.key.Thread, "error", err)
		if unread++; unread == maxUnread {
			w.mu.Lock()
			a.failed = err
			a.retire() // its followers leave, each in its time; who comes meanwhile is not sent away for it
			a.signal()
			w.mu.Unlock()
			return nil
		}
	}
	return nil
}

// polled takes a head that was read; offers is what the watch had counted before the
// read. When it has not changed since, no write came beside the read, and what was
// read is the truth, also when it is no newer one: the thread is gone. Otherwise the
// read may be the older of the two, and only its version can say.
func (a *watch) polled(head thread.Head, offers uint64) {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	same := head.Version == a.head.Version && head.Incarnation == a.head.Incarnation
	if a.offers == offers && !same {
		a.set(head)
		return
	}
	a.learn(head)
}
