package run

import (
	"encoding/json"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// stage is how far a call of the round is, as this claim knows it. The head's
// status is the place at the last write of the head; for a fresh call no more is
// known.
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
// A close makes the round again from the store, and keeps the stages that the store
// does not have: running, fatal, and which results were announced.
type stage uint8

const (
	fresh     stage = iota
	asking          // it is to wait: the next write asks for a place for its ticket
	crowded         // it was to wait, and the head had no place left
	admitted        // its gates have let it through
	running         // its tool was started: whether it has acted is not known
	fatal           // its tool has ended the run
	held            // it has a result whose turn has not come: see holdBack
	concluded       // it has its one result
)

// where is how safe a result is.
type where uint8

const (
	inMemory where = iota // a crash loses it
	put                   // stored by this claim's own put
	safe                  // put again under this claim's fence, or the head covers it, or marks its call done: it never changes
)

// call is one call of the round on its way to its result.
type call struct {
	stage  stage
	told   bool        // its result was announced, by this claim or an earlier one
	early  *early      // what its gates said before the commit of the turn, unless its tool has started by then; nil: they were not asked
	task   *task       // from when its gates have let it through; nil before, and of an earlier claim's
	ticket *ticket     // its question, while it is asking
	held   *conclusion // its outcome when it was held
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

// stored reports whether any reader of the head can read the result.
func (c *call) stored() bool { return c.result.where != inMemory }

// merged reports whether the draft has what the call changed.
func (c *call) merged() bool { return c.result.merged > 0 }

// hasBegun reports whether this claim has started the call's tool, and no result tells what
// became of that.
func (c *call) hasBegun() bool { return c.stage == running || c.stage == fatal }

// task is a call on its way to its tool, with the findings about it. The gates fill
// it in, in the step's goroutine. While BeforeToolExecute runs concurrently with
// its siblings', the task belongs to that function alone.
type task struct {
	index     int
	at        int64          // the clock that its gates, hooks and tool are shown, unix milliseconds
	call      core.ToolCall  // with the arguments that it runs with
	tool      tool.Tool      // once it was found
	snapshot  state.Snapshot // as the gates and BeforeToolExecute leave it, for this call alone
	began     uint64         // revision of the round's state that the call continues from
	hooks     state.Command  // what these asked for
	resume    *core.Resume   // the decision that it continues after
	after     followed       // what the result says of the decision
	suspended []string       // ids of the suspensions that were decided
	answers   []core.Resume  // what decisions said of how long they hold
	takes     bool           // it runs the actions that waited for BeforeToolExecute
	taken     uint64         // those with ids up to this one are a sibling's
}

// admission is the verdict of the checks and gates on a call. It is one of three:
// the call has its outcome, it is to wait for a decision, or, with neither, its
// tool may run.
type admission struct {
	task   *task // the call as far as it came; nil with an end
	end    *conclusion
	ticket *core.TicketRequest
}

// early is what the gates of a call said before its turn was committed.
type early struct {
	admission admission
	err       error
}

// ticket is the question of a call that is to wait. Its record is stored with the
// write that puts the ticket in the head, never after it: every reader of the head
// can read it.
type ticket struct {
	thread.Ticket
	record  thread.TicketRecord
	payload []byte // record as it is stored: encoded once, since a write is built again for every head that it meets
}

// followed is the decision that a call continued after; zero: it did not wait.
type followed struct {
	decision  string          // id of the decision
	arguments json.RawMessage // those that a decision put in place of the model's; nil: none did
}

// conclusion is the outcome of a call: from its tool, a gate or a decision, or from
// the runtime if none of them gave one. All of them become one record, in one place
// (round.keep), so that each call has exactly one result. The code that makes one
// hands it to the line, which alone decides when it counts.
type conclusion struct {
	result  tool.Result
	hooks   state.Command // what gates and BeforeToolExecute asked for
	after   followed      // the decision that it follows
	blocked string        // why a gate ended the run over it
	took    time.Duration // by its tool; 0: none ran
	place   int           // in the line; 0: none
}

// synthetic is a result that no tool gave. The status has the reason; the message
// is for the model alone, and no code decides by it.
func synthetic(status core.ResultStatus, message string) tool.Result {
	result := tool.Failed(message)
	result.Status = status
	return result
}

// addUnstored adds the records of results that no put has stored, in the order of the log:
// they travel with the write that closes the round. Every call has its result by then. from
// is the sequence of the turn.
func addUnstored(records []store.Record, from uint64, calls []call) []store.Record {
	for i := range calls {
		if !calls[i].stored() {
			records = append(records, store.Record{Name: store.LogName(from + 1 + uint64(i)), Payload: calls[i].result.payload})
		}
	}
	return records
}
