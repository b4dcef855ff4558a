package sim

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// threadState is what the checks remember of one thread.
type threadState struct {
	w *World
	i int
	p *partition

	user  string    // whose thread it is
	child bool      // a call has made it, for the run that it waits for
	depth int       // how many runs are above its own
	owed  []core.ID // child runs that an ended run has left, until no cancel is owed
	fork  *fork     // it is a fork of another, or is to be; nil: it is not

	budget budget
	asking map[modelStep]*inquiry // under the present claim
	said   map[core.ID][]*said    // by models, by run

	narrowed bool                // a request was refused as too long, or made by a process that knew the window
	schooled map[modelStep][]int // windows that the process may know before the calls of a step
	asks     asks

	returning   int // of the hints, those that an invocation did not acknowledge
	handed      int // hints so far
	hints, held int // under way, and with an invocation
	seconds     seconds
	turn        turn

	logged logged
	inputs inputs
	runs   runs
	calls  calls
}

// logged is the committed log of a thread, and what it shows.
type logged struct {
	th       *threadState
	entries  []thread.Entry // committed, from sequence 1
	payloads [][]byte       // the same as they are stored
	sums     []uint32       // the checksum of the tail that ends with each
	fixed    map[uint64]bool
	turn     int // calls of the committed turn that still want a result
	call     int // the next of them
	turnSeq  uint64
	visible  []shown          // what the log shows
	states   []state.Snapshot // after each sequence
	folded   folded
	places   []stood // of the turns and failed inferences that a model is shown, or would be
	forked   []*fork // that people make of it
}

// inputs is what clients submitted to a thread, and what became of it.
type inputs struct {
	th         *threadState
	accepted   map[core.ID]*input // accepted, by the id of their dispatch
	byText     map[string]*input  // every one that a client made, by its message's id
	reads      map[string]int     // committed messages, by the id
	readBy     map[string]core.ID // and the run that has read them
	cut        map[core.ID]bool   // existed before an interrupt
	named      map[core.ID]bool   // runs that a client has named to end them
	interrupts uint64             // that clients have asked for, each as often as it took
	takenBack  map[core.ID]bool   // inputs that a client knows as withdrawn
	edited     map[string]bool    // records of edits that counted before a run opened
}

// runs is what happened to the runs of a thread.
type runs struct {
	th          *threadState
	ended       map[core.ID]final
	seen        map[core.ID][]core.Termination
	hung        map[core.ID]bool // whose RunEnd took too long
	streamed    map[core.ID]bool // in which a person has decided by a request that streams
	lostClosing map[core.ID]int  // claims that were lost of a run that closes
	killed      map[core.ID]int  // claims that a run's own poison took
	began       map[core.ID]bool // runs that were claimed
	admitted    map[core.ID]bool // runs that were queued or started
	streak      streak
	outlasted   outlasted
	stretch     *stretch // of the open run; nil: none is
	alone       alone
	goingOn     []*goingOn               // runs that ended with an error, and that people go on with
	cuts        map[core.ID]int          // how often the end of a run was refused
	takenUp     map[core.ID]*takenUp     // runs that go on with another
	mends       map[string]int           // how often runs that started with an input were continued
	closed      time.Duration            // when a run began to close
	fence       uint64                   // its first one
	claimed     time.Duration            // when the newest claim was taken
	turned      time.Duration            // when the newest turn with calls was committed
	lost        map[string]time.Duration // when the claim of a worker was taken over
}

// calls is what tools did.
type calls struct {
	th        *threadState
	effects   map[string]int
	starts    map[string]int  // executions of a call, by its key
	acts      map[string]bool // calls whose tool ran last without suspending them
	results   map[string]string
	completed []completion // under the present claim
	early     uint64       // sequence of the turn of the newest call that ran before its turn was committed; 0: none since the last inference
}

// final is the record of a run that is over.
type final struct {
	payload  []byte
	dispatch core.ID
	end      core.TerminationType
}

// input is what a client submits.
type input struct {
	name     string // of its message
	agent    string
	text     string
	mode     string
	over     string // how a reader saw it end
	inline   bool
	priority uint8 // 0: the usual one
	delay    time.Duration
	sent     time.Duration // when it was first
	event    bool          // it is internal, with other words in each attempt
	tries    int           // of an event
	run      core.ID
	told     core.ID // the run of which its stream told, before the request was over
	id       core.ID
	// supersede is the sequence from which the run takes the log back; 0: none.
	supersede uint64
	// retakes is the id of the message there, where the client names that; empty: it
	// names the sequence.
	retakes    string
	firstInput string // of a run that continues another: the name of the first one's input
}

func newThreadState(w *World, i int, p *partition) *threadState {
	th := &threadState{w: w, i: i, p: p, said: map[core.ID][]*said{}, asking: map[modelStep]*inquiry{}, budget: budget{known: map[modelStep]int{}, here: map[modelStep]int{}}}
	th.logged = logged{th: th, fixed: map[uint64]bool{}, folded: folded{fold: state.Snapshot{}.Fold(), committed: map[string]bool{}}}
	th.inputs = inputs{
		th: th, accepted: map[core.ID]*input{}, byText: map[string]*input{}, reads: map[string]int{}, readBy: map[string]core.ID{},
		cut: map[core.ID]bool{}, named: map[core.ID]bool{}, takenBack: map[core.ID]bool{}, edited: map[string]bool{},
	}
	th.runs = runs{
		th: th, ended: map[core.ID]final{}, seen: map[core.ID][]core.Termination{}, hung: map[core.ID]bool{}, streamed: map[core.ID]bool{}, lostClosing: map[core.ID]int{},
		killed: map[core.ID]int{}, began: map[core.ID]bool{}, admitted: map[core.ID]bool{}, cuts: map[core.ID]int{}, takenUp: map[core.ID]*takenUp{},
		mends: map[string]int{}, lost: map[string]time.Duration{},
	}
	th.calls = calls{th: th, effects: map[string]int{}, starts: map[string]int{}, acts: map[string]bool{}, results: map[string]string{}}
	th.asks = asks{th: th, by: map[ticketID]*asked{}, calls: map[place][]*asked{}, late: map[string]bool{}, crowded: map[place]int{}, before: map[string]uint64{}, finished: map[string]finishedPart{}}
	return th
}
