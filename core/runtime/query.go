package runtime

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// MessageQuery selects a page of a thread's messages.
type MessageQuery struct {
	// After is a page's Next; 0: from the start. A sequence of the log will do too,
	// which may be superseded by now.
	After uint64
	// Newest asks for the newest messages behind After, instead of the oldest.
	Newest bool
	// Run asks for the messages of one run alone; zero: all. A run of another thread is
	// core.CodeNotFound.
	Run core.ID
	// Descending asks for the newest first, from Before on, a page's Next; 0: from the
	// newest. After and Newest do not count then.
	Descending bool
	Before     uint64
	Limit      int // 1 to 200; 0: 50, of the newest as many as Bytes allows
	Bytes      int // JSON of the page's messages, 1 to 3,000,000; 0: 3,000,000. One message is always given
}

// MessagePage is a page of a thread's messages, oldest first.
type MessagePage struct {
	Messages []core.Message // the last page's, or the first one's of the newest first, with what is visible early: see [Runtime.Messages]
	Total    int            // log records of the thread: its messages, superseded ones too, and the rare step that changed state alone
	Next     uint64         // After of the next page; 0: there is none

	// Earlier and Cut are the newest messages': whether there are messages before
	// them, and whether some of those belong to the run of the first. A run is only
	// cut when it does not fit in a page.
	Earlier, Cut bool
}

// ThreadInfo is how a thread stands.
type ThreadInfo struct {
	ID        string
	Owner     string
	ActiveRun core.ID        // zero: none
	Status    core.RunStatus // of ActiveRun
	Queued    int            // runs that open after it
	Delayed   int            // runs that were accepted for later and have not opened
	Messages  int            // as MessagePage.Total
	Created   int64          // unix milliseconds

	Title    string
	Metadata json.RawMessage // an object; nil: none

	// What lists say of the thread; all zero where its listing cannot be read.
	Activity int64           // when it was made, or a run of it ended or began to wait; unix milliseconds
	AgentID  string          // of Last, or of the input that made the thread
	Parent   string          // the thread whose call has started Last
	Last     *thread.LastRun // the last run that has ended or waits; nil: none has
	Excerpt  string          // how what Last answered begins
	Asked    string          // how the input of Last begins, or that which made the thread
}

// ThreadQuery selects a page of a user's threads.
type ThreadQuery struct {
	Before *store.Place // a page's Next; nil: from the newest
	Limit  int          // 1 to 200; 0: 50
	Text   string       // in the title, in Asked or the id, upper and lower case alike; empty: all
	Agent  string       // of the last run; empty: any
	Parent string       // the thread whose children are meant; empty: threads that are nobody's children
}

// ThreadPage is a page of threads, newest activity first. It may have fewer than its
// limit, and none, and still not be the last.
type ThreadPage struct {
	Threads []ThreadInfo
	Next    *store.Place // Before of the next page; nil: there is none
}

// ThreadChange is a change of what is said of a thread.
type ThreadChange struct {
	Title    *string         // nil: as it is; empty: none any more
	Metadata json.RawMessage // a merge patch (RFC 7396) on what there is; JSON null: none any more; nil: as it is
}

// ThreadMake says which thread is made.
type ThreadMake struct {
	ID       string
	Key      string // makes it idempotent; empty: an id that is taken is core.CodeConflict
	Title    string
	Metadata json.RawMessage // an object; nil: none
}

// RunQuery selects a page of runs.
type RunQuery struct {
	Before      *store.Place         // a page's Next; nil: from the newest
	Limit       int                  // 1 to 200; 0: 50
	Status      core.RunStatus       // empty: any
	Agent       string               // empty: any
	Termination core.TerminationType // of those that are done; empty: any
}

// RunPage is a page of runs, newest first by when they were submitted. It may have fewer
// than its limit, and none, and still not be the last.
type RunPage struct {
	Runs []core.Run
	Next *store.Place // Before of the next page; nil: there is none
}

// ApprovalQuery selects a page of the calls that wait for a decision.
type ApprovalQuery struct {
	After *ApprovalCursor // a page's Next; nil: from the start
	Limit int             // 1 to 200; 0: 50. More when one thread alone has more
	Bytes int             // JSON of the page's tickets, 1 to 3,000,000; 0: 3,000,000. Those of one thread are always given
}

// ApprovalCursor is a place in the order of the threads that wait for a decision:
// those that have waited longest come first.
type ApprovalCursor struct {
	Since  int64 // unix milliseconds
	Thread string
}

// Approval is a call that waits for a person or a client.
type Approval struct {
	ThreadID string
	RunID    core.ID
	AgentID  string
	Ticket   core.Ticket
}

// ApprovalPage is a page of the calls that wait for a decision. It may have fewer
// than its limit, and none, and still not be the last.
type ApprovalPage struct {
	Approvals []Approval      // of one thread together, in call order
	Next      *ApprovalCursor // After of the next page; nil: there is none
}
