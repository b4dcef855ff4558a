package host

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// watches share the newest known heads of threads among all followers of this process: one
// watch per thread, from the first follower to the last.
//
// A watch learns of a new head in two ways. The mailbox passes it every head that this
// process writes, immediately. And the watch reads the head on an interval, for the
// writes of other processes; without other processes the interval may be long.
//
// Heads may arrive in any order: a later writer may be done before an earlier one has
// reported its head, and a read may overlap with both. Versions tell which head is the
// newest. So no order is kept and no writer waits for another: moved holds the lock for one
// comparison.
//
// A slow follower misses heads in between, but never the last one: a head has all that the
// heads before it had, and the log has the rest.
type watches struct {
	env *env.Env
	// read reads a thread's head from the store.
	read     func(context.Context, core.ThreadKey) (thread.Head, error)
	interval time.Duration // between two reads of poll: Options.FollowInterval
	log      *slog.Logger
	// left is called with each head that poll reads. If the thread has work and no worker, it
	// sends a hint and returns true. nil: the sweep finds such threads.
	left func(context.Context, core.ThreadKey, thread.Head) bool

	mu      sync.Mutex // guards threads and the fields of every watch; not held over I/O
	threads map[core.ThreadKey]*watch
}

// watch is the newest head of a thread that this process knows.
type watch struct {
	watches   *watches
	key       core.ThreadKey
	followers int
	group     *env.Group // of poll, which the last follower waits for; nil: no follower has waited yet

	head    thread.Head
	offers  uint64        // how often head has changed, so that a read notices a concurrent write
	words   uint64        // how often a step of this process has said something
	wakes   []*watch      // whose followers each new head wakes, as words do; with repetitions
	failed  error         // the head cannot be read, and this watch does not try again
	changed chan struct{} // closed with the next news; nil: no follower waits
}

// maxUnread is how many reads in a row may fail before the followers' streams end. The
// first may be due to a throttled store: to disconnect the clients at once would make all of
// them ask it again.
const maxUnread = 3

// newWatches returns watches that read heads with read on an interval.
func newWatches(e *env.Env, read func(context.Context, core.ThreadKey) (thread.Head, error), interval time.Duration, log *slog.Logger) *watches {
	return &watches{env: e, read: read, interval: interval, log: log, threads: map[core.ThreadKey]*watch{}}
}

// join starts to follow a thread, until quit. A follower joins first and then reads the
// head with newest: earlier writes are in that head, later ones reach the watch.
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

// quit ends a join. The last follower waits until poll has returned, so that no function
// outlives the invocation that it belongs to.
func (a *watch) quit() {
	a.watches.mu.Lock()
	a.followers--
	last := a.followers == 0
	if last { // a later join starts another watch while this one ends
		a.retire()
	}
	a.watches.mu.Unlock() // before the wait: poll takes the lock
	// Read without the lock: only a follower sets group, and none is left.
	if last && a.group != nil {
		a.group.Cancel()
		_ = a.group.Wait() // poll reports its failures to the followers
	}
}

// retire makes later joins start another watch; the followers of this one keep it. The
// caller holds mu.
func (a *watch) retire() {
	if a.watches.threads[a.key] == a {
		delete(a.watches.threads, a.key)
	}
}

// moved passes a head that this process has written to the thread's watch. Without
// followers it costs one look into a map.
func (w *watches) moved(key core.ThreadKey, head thread.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.threads[key]; at != nil {
		at.learn(head)
	}
}

// spoke wakes the followers of a thread: a step of this process has said something. It is
// run.Options.Said.
func (w *watches) spoke(key core.ThreadKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.threads[key]; at != nil {
		at.words++
		at.signal()
	}
}

// spoken returns how often a step of this process has said something, see afterWords.
func (a *watch) spoken() uint64 {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	return a.words
}

// differs reports whether two heads are different states of a thread. Versions count the
// writes of one incarnation, which is fixed when the thread is created.
func differs(a, b thread.Head) bool { return a.Version != b.Version || a.Incarnation != b.Incarnation }

// learn receives a head that may be late; an older one is ignored. The caller holds mu.
func (a *watch) learn(head thread.Head) {
	// A head of an earlier incarnation is of a thread that is gone, for every version.
	newer := head.Version > a.head.Version
	if head.Incarnation != a.head.Incarnation {
		newer = head.Incarnation > a.head.Incarnation
	}
	if newer {
		a.set(head)
	}
}

// set makes a head the newest. The caller holds mu.
func (a *watch) set(head thread.Head) {
	a.head = head
	a.offers++
	a.signal()
	for _, other := range a.wakes {
		other.words++
		other.signal()
	}
}

// joinFor joins a thread for the followers of the watch, which each new head of the thread
// wakes. They do not wait on the thread's own watch, so that the poll starts here, with the
// values of ctx.
//
// A follower waits on one channel. What wakes it are its own thread's heads and words, and a
// new head of a child run counts as words of its thread: it says nothing about the head that
// the follower has seen, and the follower looks around.
func (a *watch) joinFor(ctx context.Context, key core.ThreadKey) *watch {
	other := a.watches.join(key)
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	other.wakes = append(other.wakes, a)
	other.polls(ctx)
	return other
}

// quitFor ends a joinFor.
func (a *watch) quitFor(other *watch) {
	a.watches.mu.Lock()
	at := slices.Index(other.wakes, a)
	other.wakes = slices.Delete(other.wakes, at, at+1)
	a.watches.mu.Unlock()
	other.quit()
}

// polls starts poll, unless it runs. The caller holds mu.
func (a *watch) polls(ctx context.Context) {
	if a.group == nil {
		a.group, _ = a.watches.env.Group(context.WithoutCancel(ctx))
		a.group.Go(a.poll)
	}
}

// signal wakes the waiting followers. The caller holds mu.
func (a *watch) signal() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// newest reads the head. The read is outside the lock, so that a write may overtake it;
// newest returns the newer of the two heads.
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

// newer returns the newest known head, which may be the one that was seen, or why the head
// cannot be read any more. It does not wait.
func (a *watch) newer(seen thread.Head) (thread.Head, error) {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	if a.failed != nil {
		return seen, a.failed
	}
	return a.head, nil
}

// after returns the newest head as soon as it differs from seen. The error is the cause of
// ctx's end, or why the head cannot be read.
func (a *watch) after(ctx context.Context, seen thread.Head) (thread.Head, error) {
	return a.await(ctx, seen, func() bool { return false })
}

// afterWords is after that also returns when something was said since spoken was counted.
func (a *watch) afterWords(ctx context.Context, seen thread.Head, spoken uint64) (thread.Head, error) {
	return a.await(ctx, seen, func() bool { return a.spoken() != spoken })
}

// await is after that also returns, with the head that was seen, when enough returns true. It
// calls enough after it has the channel of the next news, so that none is missed in between.
func (a *watch) await(ctx context.Context, seen thread.Head, enough func() bool) (thread.Head, error) {
	for {
		head, changed, err := a.look(ctx, seen)
		switch {
		case ctx.Err() != nil: // even if there is always something new
			return seen, context.Cause(ctx)
		case err != nil || changed == nil || enough():
			return head, err
		}
		if err := a.watches.env.Wait(ctx, changed); err != nil {
			return seen, err
		}
	}
}

// look returns the head if it differs from seen, else a channel that is closed with the
// next news. The channel is made under the lock under which news arrives, so that no news is
// missed in between. The first follower that has to wait starts poll, with the values of its
// context but not its end: it may quit before the others.
func (a *watch) look(ctx context.Context, seen thread.Head) (head thread.Head, changed <-chan struct{}, err error) {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	switch {
	case a.failed != nil:
		return seen, nil, a.failed
	case differs(a.head, seen):
		return a.head, nil, nil
	}
	a.polls(ctx)
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return seen, a.changed, nil
}

// poll reads the head on the interval until the last follower quits. A failed read changes
// nothing: the known head is still the newest known one. After maxUnread failures in a row
// the watch ends with the error.
func (a *watch) poll(ctx context.Context) error {
	w := a.watches
	var woken uint64 // the version of the head for which workers were woken
	for unread := 0; w.env.Sleep(ctx, w.interval) == nil; {
		w.mu.Lock()
		offers := a.offers
		w.mu.Unlock()
		var head thread.Head
		err := env.Protect(func() (err error) { // a panic must not leave the followers waiting forever
			head, err = w.read(ctx, a.key)
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			unread = 0
			a.polled(head, offers)
			if w.left != nil && head.Version != woken && w.left(ctx, a.key, head) {
				woken = head.Version
			}
			continue
		}
		w.log.WarnContext(ctx, "followed thread cannot be read", "tenant", a.key.Tenant, "thread", a.key.Thread, "error", err)
		if unread++; unread == maxUnread {
			w.mu.Lock()
			a.failed = err
			a.retire() // its followers end one by one; a new one is not refused because of this error
			a.signal()
			w.mu.Unlock()
			return nil
		}
	}
	return nil
}

// polled receives a head that poll has read; offers is the watch's count from before the
// read. If the count is unchanged, no write of this process overlapped with the read, and
// the head counts even if it is not newer: the thread may have been erased. Otherwise the
// read may be the older one, which only its version tells.
func (a *watch) polled(head thread.Head, offers uint64) {
	a.watches.mu.Lock()
	defer a.watches.mu.Unlock()
	if a.offers == offers && differs(head, a.head) {
		a.set(head)
		return
	}
	a.learn(head)
}

// followers returns how many streams follow a thread.
func (w *watches) followers() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, at := range w.threads {
		n += at.followers
	}
	return n
}
