package runtime

import "github.com/reveille-run/reveille/core"

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
