package runtime

import "github.com/reveille-run/reveille/core"

// MessageQuery selects a page of a thread's messages.
type MessageQuery struct {
	After uint64 // messages after this sequence, which may be superseded by now; 0: from the start
	Limit int    // 1 to 200; 0: 50
}

// MessagePage is a page of a thread's messages, oldest first.
type MessagePage struct {
	Messages []core.Message // the last page's with what is visible early: see [Runtime.Messages]
	Total    int            // log records of the thread: its messages, superseded ones too, and the rare step that changed state alone
	Next     uint64         // After of the next page; 0: there is none
}

// ThreadInfo is what a thread read answers.
type ThreadInfo struct {
	ID        string
	Owner     string
	ActiveRun core.ID        // zero: none
	Status    core.RunStatus // of ActiveRun
	Queued    int            // runs behind it
	Messages  int            // as MessagePage.Total
}
