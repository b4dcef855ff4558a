package host

import "github.com/reveille-run/reveille/core/internal/thread"

// ErrChild is returned for a decision on the ticket of a call that waits for a child run: the
// end of that run alone decides it.
var ErrChild = thread.ErrChild

// MaxCalls is the number of calls that a turn may have.
const MaxCalls = thread.MaxCalls
