package run

import (
	"slices"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// stage is how far a call of the round is, as this claim knows. The head's status says where
// it was when the head was last written; where a call is fresh, that is all there is to know.
//
//	stage             event                                              next
//	fresh             its gates let it through / make it wait            admitted / asking
//	fresh             a result is found, or given without its tool       concluded
//	asking            a write's head has its ticket / has it not         fresh / crowded
//	asking, crowded   the run is blocked                                 concluded
//	crowded           there is a place for a ticket                      as fresh
//	admitted          its tool is started                                running
//	running           its tool returns / waits / ends the run            concluded / asking / fatal
//	running, fatal    the run closes                                     concluded
//
// A close makes the round again from the store, and keeps what that cannot tell: running,
// fatal, and which results were announced.
type stage uint8

const (
	fresh     stage = iota
	asking          // it is to wait: the next write asks for a place for its ticket
	crowded         // it was to wait, and the head had no place left
	admitted        // its gates have let it through
	running         // its tool was started: whether it has acted is not known
	fatal           // its tool has ended the run
	held            // it has come to a result that is not its turn yet: see holdBack
	concluded       // it has its one result
)

// where is how safe a result is.
type where uint8

const (
	inMemory where = iota // a crash loses it
	put                   // stored by this claim's own put
	adopted               // stored by an earlier claim, and put again under this one's fence
	done                  // the head covers it, or marks its call done: it never changes
)

// call is one call of the round on its way to its result.
type call struct {
	stage  stage
	told   bool        // its result was announced, by this claim or an earlier one
	task   *task       // from when its gates have let it through; nil before, and of an earlier claim's
	ticket *ticket     // what it is to wait for, while it is asking
	held   *conclusion // what it has come to, while it is held
	result result
}

// result is the result of a call that is concluded.
type result struct {
	entry   *thread.Entry
	payload []byte // of entry, as it is or will be stored
	where   where
	merged  int            // it is the nth that the draft has merged, AfterToolExecute included; 0: it is not
	effects []state.Effect // what AfterToolExecute asked for
}

// end gives the call its result.
func (c *call) end(entry *thread.Entry, payload []byte) {
	c.stage, c.result.entry, c.result.payload = concluded, entry, payload
}

// stored reports whether the result can be read by whoever sees the head.
func (c *call) stored() bool { return c.result.where != inMemory }

// merged reports whether the draft has what the call changed.
func (c *call) merged() bool { return c.result.merged > 0 }

// hasBegun reports whether this claim has started the call's tool, and no result tells what
// became of that.
func (c *call) hasBegun() bool { return c.stage == running || c.stage == fatal }

// any reports whether a call of the round is as f says.
func (r *round) any(f func(c *call) bool) bool { return r.index(f) >= 0 }

// index is the index of the first call that is as f says; -1: none is.
func (r *round) index(f func(c *call) bool) int {
	for i := range r.calls {
		if f(&r.calls[i]) {
			return i
		}
	}
	return -1
}

// statuses are the calls as a write leaves them, from what the head says: a result that is
// stored makes its call done. One that is only in memory does not, since a done call must be
// readable by anyone who sees the head. With hooks only one that AfterToolExecute has seen
// does: what the hook asks for runs with the write that makes the call done, and would be
// lost if that came first. progress reports whether this claim stored a result
// that is not done yet for it.
func (r *round) statuses(calls []thread.CallStatus) (next []thread.CallStatus, progress bool) {
	next = slices.Clone(calls)
	hooks := r.hooked()
	for i := range r.calls {
		c := &r.calls[i]
		switch {
		case !c.stored():
		case hooks && !c.merged() || r.untried(i):
			progress = progress || c.result.where == put && next[i] != thread.CallDone
		default:
			next[i] = thread.CallDone
		}
	}
	return next, progress
}

// concluded reports whether a call has come to a result that the head does not
// say it has.
func (r *round) concluded(calls []thread.CallStatus) bool {
	for i := range r.calls {
		if r.calls[i].stage == concluded && calls[i] != thread.CallDone {
			return true
		}
	}
	return false
}
