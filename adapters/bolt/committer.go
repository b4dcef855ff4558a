package bolt

import (
	"errors"
	"sync"
)

// change is one call's part of a transaction. It must look before it writes:
// an error with wrote false says that it changed nothing and concerns its
// caller only; an error with wrote true rolls the transaction back. It may be
// called a second time, after a transaction that was rolled back.
type change func(tx *writeTx) (wrote bool, err error)

// committer lets calls that come while another one commits share the next
// transaction. A call that finds nobody committing commits at once. It starts
// no goroutine: the first of those who wait commits for all of them.
type committer struct {
	db   *database
	turn chan struct{} // holds a token while somebody commits

	mu      sync.Mutex
	waiting []*request
}

type request struct {
	thread string // that the change is about; empty: it may be about any
	change change
	err    error
	done   chan struct{} // closed when err is set
}

func newCommitter(db *database) *committer {
	return &committer{db: db, turn: make(chan struct{}, 1)}
}

// do returns when the change is durable, or with the error of it.
func (c *committer) do(thread string, change change) error {
	r := &request{thread: thread, change: change, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, r)
	c.mu.Unlock()

	select {
	case <-r.done: // somebody committed it
	case c.turn <- struct{}{}:
		c.mu.Lock()
		together := c.waiting // ours too, unless it is done already
		c.waiting = nil
		c.mu.Unlock()
		if len(together) > 0 {
			c.commit(together)
		}
		for _, other := range together {
			close(other.done)
		}
		c.db.tidy()
		<-c.turn
	}
	<-r.done
	return r.err
}

// commit tries all changes in one transaction. When one of them fails in the
// middle, each gets its own, so that no call pays for another one's failure.
func (c *committer) commit(together []*request) {
	unknown, err := c.transact(together)
	if err == nil {
		return
	}
	if !unknown && len(together) > 1 {
		for _, r := range together {
			c.commit([]*request{r})
		}
		return
	}
	for _, r := range together { // alone with it, or the disk failed and nobody knows what is on it
		r.err = err
	}
}

// errNothingWritten rolls a transaction back that has nothing to sync.
var errNothingWritten = errors.New("nothing was written")

// transact applies changes in one transaction and sets the error of each that
// changed nothing. Its own error concerns all of them; unknown says that they may
// be on the disk all the same.
func (c *committer) transact(together []*request) (unknown bool, err error) {
	threads := make(map[string]struct{}, len(together))
	for _, r := range together {
		threads[r.thread] = struct{}{}
	}
	unknown, err = c.db.update(threads, func(tx *writeTx) error {
		wroteAny := false
		for _, r := range together {
			var wrote bool
			wrote, r.err = r.change(tx)
			if r.err != nil && wrote {
				return r.err
			}
			r.err = c.db.explain(r.err)
			wroteAny = wroteAny || wrote
		}
		if !wroteAny {
			return errNothingWritten
		}
		return nil
	})
	if errors.Is(err, errNothingWritten) {
		err = nil
	}
	return unknown, err
}
