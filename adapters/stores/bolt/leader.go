package bolt

import (
	"errors"
	"runtime"
	"sync"
)

// change is one call's part of a transaction. It must look before it writes. An error
// with wrote false means that it changed nothing and concerns its caller only; an error
// with wrote true ends the transaction. It may be called a second time, after a
// transaction that ended in this way.
type change func(w *writeTx) (wrote bool, err error)

// leader lets calls that come while a transaction is committed share the next one. A
// call that finds no commit under way is its own leader and commits immediately. There is
// no goroutine: the first of the calls that wait leads the others.
type leader struct {
	db     *database
	failed func()        // called when it is not known what the disk has
	turn   chan struct{} // holds a token while a call leads

	mu      sync.Mutex
	waiting []*request
}

type request struct {
	change change
	err    error
	done   chan struct{} // closed when err is set
}

func newLeader(db *database, failed func()) *leader {
	return &leader{db: db, failed: failed, turn: make(chan struct{}, 1)}
}

// do returns when the change is durable, or with the error of it.
func (l *leader) do(change change) error {
	r := &request{change: change, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, r)
	l.mu.Unlock()

	select {
	case <-r.done: // another call has committed it
	case l.turn <- struct{}{}:
		runtime.Gosched() // for calls that are about to come; a single one continues immediately
		l.mu.Lock()
		together := l.waiting // this one too, unless it is done already
		l.waiting = nil
		l.mu.Unlock()
		if len(together) > 0 {
			l.commit(together)
		}
		<-l.turn
		for _, other := range together {
			close(other.done)
		}
	}
	<-r.done
	return r.err
}

// stop waits for the transaction under way and stops the database.
func (l *leader) stop() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.db.stop()
}

// commit tries all changes in one transaction. When one of them fails in the
// middle, each gets its own, so that no call pays for the failure of another.
func (l *leader) commit(together []*request) {
	unknown, err := l.transact(together)
	if err == nil {
		return
	}
	if !unknown && len(together) > 1 {
		for _, r := range together {
			l.commit([]*request{r})
		}
		return
	}
	for _, r := range together { // alone with it, or the disk failed
		r.err = err
	}
}

// errNothingWritten ends a transaction that has nothing to sync.
var errNothingWritten = errors.New("nothing was written")

// transact applies changes in one transaction and sets the error of each that changed
// nothing. Its own error concerns all of them; unknown reports that they may be on the
// disk or not.
func (l *leader) transact(together []*request) (unknown bool, err error) {
	var tx *writeTx
	unknown, err = l.db.update(func(w *writeTx) error {
		tx = w
		wroteAny := false
		for _, r := range together {
			var wrote bool
			wrote, r.err = r.change(w)
			if r.err != nil && wrote {
				return r.err
			}
			r.err = l.db.explain(r.err)
			wroteAny = wroteAny || wrote
		}
		if !wroteAny {
			return errNothingWritten
		}
		return nil
	})
	switch {
	case errors.Is(err, errNothingWritten):
		return false, nil
	case unknown:
		l.failed()
	case err == nil:
		for _, do := range tx.after {
			do()
		}
	}
	return unknown, err
}
