package run

import (
	"sync"
	"time"

	"github.com/reveille-run/reveille/core/internal/show"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// news is the news for the scheduler of a round from concurrent functions: the
// reports and results of the calls' tools, and newer heads from the watch. It is
// the one value that they share with the step's goroutine, so that the round and
// the draft need no lock.
//
// The scheduler waits with env.Wait on a channel that the next news closes, and
// never on a condition: the simulator runs one function at a time and must know of
// every wait.
type news struct {
	mu      sync.Mutex // guards what follows; not held over I/O
	shown   []shown    // by tools, in the order in which they did it
	silent  bool       // no client takes the reports of tools
	done    []finished
	turn    turnState
	settled chan struct{} // closed when the turn is no longer pending; made for those who wait for that
	head    *thread.Head
	unseen  bool          // head has not been looked at
	changed chan struct{} // closed with the next news; made by a drain that found none
}

// turnState is what became of the commit of the round's turn.
type turnState uint8

const (
	turnCommitted turnState = iota // also where no call runs beside it
	turnPending                    // calls run beside it
	turnRefused                    // what they found does not count
)

// setTurn notes what became of the commit of the turn. Reports of calls whose turn was
// refused are lost.
func (n *news) setTurn(s turnState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.turn = s; s == turnRefused {
		n.silent, n.shown = true, nil
	}
	if n.settled != nil {
		close(n.settled)
		n.settled = nil
	}
}

// turnNow returns what became of the turn, and, while it is pending, what is closed when
// that is known.
func (n *news) turnNow() (turnState, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.turn == turnPending && n.settled == nil {
		n.settled = make(chan struct{})
	}
	return n.turn, n.settled
}

// finished is the outcome of a call's tool.
type finished struct {
	call   int // its index
	result tool.Result
	took   time.Duration // by the tool
	err    error         // there is no result: see finishTool
}

// ended hands over the outcome of a tool. It is called in the tool's goroutine, and
// never waits: the scheduler may be busy with a write.
func (n *news) ended(f finished) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.done = append(n.done, f)
	n.wake()
}

// offer hands over a head that the watch has read. Only the newest is kept: a head
// says all that the ones before it said.
func (n *news) offer(head thread.Head) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.head == nil || head.Version > n.head.Version {
		n.head, n.unseen = &head, true
		n.wake()
	}
}

// wake ends the wait; the caller holds mu.
func (n *news) wake() {
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// drain returns what tools have shown and the calls that have ended since the last
// drain, and, when there is nothing, what is closed with the next news.
func (n *news) drain() (show []shown, done []finished, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	show, n.shown = n.shown, nil
	if done, n.done = n.done, nil; len(done) > 0 || len(show) > 0 {
		return show, done, nil
	}
	if n.unseen { // it came between the scheduler's look and its wait
		at := make(chan struct{})
		close(at)
		return nil, nil, at
	}
	return nil, nil, n.next()
}

// next is closed with the next news; the caller holds mu.
func (n *news) next() <-chan struct{} {
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// newest is the newest head that the watch has read; nil: none yet. It counts as
// seen from here on, and wakes no waiter any more.
func (n *news) newest() *thread.Head {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unseen = false
	return n.head
}

// showing is the way of one call's reports, from the start of the call to its
// return or its abandonment. It costs nothing that the call's parts do not cost
// anyway, and without readers it is not set up.
type showing struct {
	out   show.Live
	call  *tool.Call // nil: there are no readers
	index uint8      // of the call
	alone bool       // of a sequential round: the step's goroutine waits for this tool alone
	over  bool       // guarded by news.mu: nothing is taken any more
}

// shown is a report on its way to the readers.
type shown struct {
	from   *showing
	report show.Report
}
