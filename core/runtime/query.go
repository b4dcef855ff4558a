package runtime

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// MessageQuery selects a page of a thread's messages.
type MessageQuery struct {
	// After is a page's Next; 0: from the start. A sequence of the log will do too,
	// which may be superseded by now.
	After uint64
	// Newest asks for the newest messages behind After, instead of the oldest.
	Newest bool
	Limit  int // 1 to 200; 0: 50, of the newest as many as Bytes allows
	Bytes  int // JSON of the page's messages, 1 to 3,000,000; 0: 3,000,000. One message is always given
}

// MessagePage is a page of a thread's messages, oldest first.
type MessagePage struct {
	Messages []core.Message // the last page's with what is visible early: see [Runtime.Messages]
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
	Queued    int            // runs behind it
	Messages  int            // as MessagePage.Total
}

// ApprovalQuery selects a page of the calls that wait for a person.
type ApprovalQuery struct {
	After *ApprovalCursor // a page's Next; nil: from the start
	Limit int             // 1 to 200; 0: 50. More when one thread alone has more
	Bytes int             // JSON of the page's tickets, 1 to 3,000,000; 0: 3,000,000. Those of one thread are always given
}

// ApprovalCursor is a place in the order of the threads that wait for a person:
// those that have waited longest come first.
type ApprovalCursor struct {
	Since  int64 // unix milliseconds
	Thread string
}

// Approval is a call that waits for a person.
type Approval struct {
	ThreadID string
	RunID    core.ID
	AgentID  string
	Ticket   mailbox.Asked
}

// ApprovalPage is a page of the calls that wait for a person. It may have fewer
// than its limit, and none, and still not be the last.
type ApprovalPage struct {
	Approvals []Approval      // of one thread together, in call order
	Next      *ApprovalCursor // After of the next page; nil: there is none
}
