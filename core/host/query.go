package host

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// The queries of reads, and what they return. A zero query asks for the first page.

// MessageQuery selects a page of a thread's messages.
type MessageQuery struct {
	// After is a page's Next; 0: from the start. A sequence of the log is one too, even if
	// it has been superseded.
	After uint64
	// Newest asks for the newest messages after After, instead of the oldest.
	Newest bool
	// Run asks for the messages of one run alone; zero: all. A run of another thread is
	// core.CodeNotFound.
	Run core.ID
	// Descending asks for the newest message first, from before Before, a page's Next; 0:
	// from the newest. After and Newest are ignored then.
	Descending bool
	Before     uint64
	// Limit is the number of messages, 1 to 200; 0: 50, or with Newest as many as Bytes
	// allows.
	Limit int
	// Bytes bounds the JSON of the messages, 1 to 3,000,000; 0: 3,000,000. The page has at
	// least one message.
	Bytes int
}

// MessagePage is a page of a thread's messages, oldest first unless the query is
// descending.
type MessagePage struct {
	// Messages include what is visible early, on the last page, or on the first if the
	// query is descending: see [Host.Messages].
	Messages []core.Message
	// Total counts the log records of the thread: its messages, superseded ones included,
	// and the rare step that changed only state.
	Total int
	// Next is After (descending: Before) of the next page; 0: this is the last.
	Next uint64

	// Earlier reports that the thread has messages before the newest ones. Cut reports
	// that some of those belong to the run of the first message: a run is cut only if it
	// does not fit in a page.
	Earlier, Cut bool
}

// Thread describes a thread.
type Thread struct {
	ID string
	// Owner is the user that the thread belongs to; empty: all users of the tenant.
	Owner     string
	ActiveRun core.ID        // the open run; zero: none, or it is closing
	Status    core.RunStatus // of ActiveRun
	Queued    int            // runs that open after it
	Delayed   int            // runs that were accepted for later and have not opened
	Messages  int            // as MessagePage.Total
	Created   int64          // unix milliseconds

	Title    string
	Metadata json.RawMessage // an object; nil: none

	// The fields below are the thread's listing; all are zero if it cannot be decoded.

	// Activity is when the thread was created, or when one of its runs last ended or
	// started to wait, in unix milliseconds.
	Activity int64
	AgentID  string        // of Last, or of the input that created the thread
	Parent   string        // the thread whose call has started Last
	Last     *core.LastRun // the last run that has ended or waits; nil: none has
	Excerpt  string        // the start of the response of Last
	Asked    string        // the start of the input of Last, or of the input that created the thread
	// FirstAsked is the start of the thread's first input, in at most 200 bytes. If that is
	// unknown, it is the start of Asked. Only [Host.Threads] sets it.
	FirstAsked string
}

// ThreadQuery selects a page of a user's threads.
type ThreadQuery struct {
	// After is a page's Next; empty: from the newest.
	After string
	// Limit is the number of threads, 1 to 200; 0: 50.
	Limit int
	// Text is searched for in the title, in FirstAsked, in Asked and in the id,
	// case-insensitively, at most 200 bytes; empty: all threads.
	Text string
	// Agent is the agent of the last run; empty: any.
	Agent string
	// Parent is the thread whose child threads are listed; empty: threads that are not
	// child threads.
	Parent string
}

// ThreadChange is a change of a thread's title and metadata.
type ThreadChange struct {
	// Title is the new title; nil: it stays; empty: it is removed.
	Title *string
	// Metadata is a merge patch (RFC 7396); JSON null: metadata is removed; nil: it stays.
	Metadata json.RawMessage
}

// NewThread describes a thread to create.
type NewThread struct {
	ID string
	// Key makes the creation idempotent; empty: an existing id is core.CodeConflict.
	Key      string
	Title    string
	Metadata json.RawMessage // an object; nil: none
}

// RunQuery selects a page of runs.
type RunQuery struct {
	// After is a page's Next; empty: from the newest.
	After string
	// Limit is the number of runs, 1 to 200; 0: 50.
	Limit int
	// Thread is the thread that the runs were submitted on; empty: all that the caller may
	// read.
	Thread string
	// Status, Agent and Termination are what a run must have; empty: any. With
	// Termination only runs that have ended match.
	Status      core.RunStatus
	Agent       string
	Termination core.TerminationType
	// Text is searched for in how the run's input begins, in the title of its thread, and
	// in the ids of both, case-insensitively, at most 200 bytes; empty: all runs.
	Text string
	// Since and Until bound the time of the submission, in Unix milliseconds: not before
	// Since, and before Until; 0: no bound.
	Since, Until int64
	// Origin is whose input opened the run; nil: any.
	Origin *core.Origin
	// Parent is the run that started the run; zero: any, or none.
	Parent core.ID
	// MinMillis is the shortest time from a run's start to its end, or to now while it is
	// open, waits included; 0: any.
	MinMillis int64
	// MinCost is the lowest cost of a run; 0: any. A run of unknown cost has none.
	MinCost core.USD
}

// ApprovalQuery selects a page of the calls that wait for a decision.
type ApprovalQuery struct {
	// After is a page's Next; empty: from the start.
	After string
	// Limit is the number of calls, 1 to 200; 0: 50. The calls of one thread are never
	// divided, so that a page has more if one thread alone has more.
	Limit int
	// Bytes bounds the JSON of the page's tickets, 1 to 3,000,000; 0: 3,000,000. The page
	// has those of at least one thread.
	Bytes int
	// Kind is core.TicketPerson or core.TicketClient; empty: calls of both kinds.
	Kind core.TicketKind
	// Agent is the agent of the run that waits; empty: any.
	Agent string
}

// Approval is a call that waits for a person or a client. A page has those of one thread
// together, in the order of the calls.
type Approval struct {
	ThreadID string
	RunID    core.ID
	AgentID  string
	// ThreadTitle is the title of the thread, else how its first input begins. Asked is how
	// the input of the run begins. Each has at most 200 bytes; empty: it is not known.
	ThreadTitle string
	Asked       string
	Parent      *core.RunParent // the run that started the run; nil: none
	Ticket      core.Ticket
}
