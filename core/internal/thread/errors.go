package thread

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// The errors of Apply. A refused transition changes nothing. Clients read these texts
// after the thread's id, so that they do not mention heads and inboxes.
var (
	// ErrNotFound: the thread, run, ticket or inbox entry does not exist (any more).
	ErrNotFound = core.Errorf(core.CodeNotFound, "not found")
	// ErrDeleted: the thread is a tombstone.
	ErrDeleted = core.Errorf(core.CodeDeleted, "it was deleted")
	// ErrForbidden: the thread belongs to another user.
	ErrForbidden = core.Errorf(core.CodeForbidden, "it belongs to another user")
	// ErrBusy: the enqueue asked to be refused while a run is open or queued.
	ErrBusy = core.Errorf(core.CodeBusy, "another run is open or queued")
	// ErrFull: a bounded table has no place.
	ErrFull = core.Errorf(core.CodeFull, "no more is accepted for now")
	// ErrTooManyChildren: the open run would have more than MaxChildren open children.
	ErrTooManyChildren = core.Errorf(core.CodeFull, "a run has at most %d open children", MaxChildren)
	// ErrTooManyMessages: the thread would have more than MaxMessages outgoing messages.
	ErrTooManyMessages = core.Errorf(core.CodeFull, "a thread has at most %d outgoing messages: %w", MaxMessages, ErrFull)
	// ErrFenced: the claim was lost to a later one. The worker must stop.
	ErrFenced = core.Errorf(core.CodeFenced, "claim was lost to a later one")
	// ErrSuperseded: an interrupt came after the claim. The holder must stop
	// and may still close the run.
	ErrSuperseded = core.Errorf(core.CodeSuperseded, "the run was superseded by an interrupt")
	// ErrClosing: the run was ended. The holder may only close it.
	ErrClosing = core.Errorf(core.CodeClosing, "the run is ending")
	// ErrStale: an inbox entry changed since the step read it; read again.
	ErrStale = core.Errorf(core.CodeStale, "the input was changed or read in between")
	// ErrDecided: another decision was taken for the ticket.
	ErrDecided = core.Errorf(core.CodeDecided, "the call was already decided otherwise")
	// ErrChild: the ticket waits for a child run, whose end alone decides it.
	ErrChild = core.Errorf(core.CodeChild, "the call waits for a child run, whose end alone decides it")
	// ErrTooLarge: the head would be over MaxSize.
	ErrTooLarge = core.Errorf(core.CodeTooLarge, "its open and queued work is too large")
	// ErrSchema: a newer program wrote the head or a record that it covers; this program
	// does not change the thread.
	ErrSchema = core.Errorf(core.CodeSchema, "thread was written by a newer version of the program")
	// ErrSuspect: the run may be what takes its process down. Nothing was
	// claimed; it must have a process to itself.
	ErrSuspect = core.Errorf(core.CodeSuspect, "run brought no progress and must run alone")
	// ErrApplied: the holder's own commit was applied before, by a write whose
	// response was lost. The holder stops; the lease decides which worker continues.
	ErrApplied = core.Errorf(core.CodeApplied, "commit was applied before")
)

func invalid(format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, format, args...)
}

// Termination is the termination of a run that closes for this reason; nil for
// ReasonOwn, whose termination is in the run record.
func (r Reason) Termination() *core.Termination {
	switch r {
	case ReasonCancelled:
		return &core.Termination{Type: core.TerminationCancelled}
	case ReasonSuperseded:
		return &core.Termination{Type: core.TerminationSuperseded}
	case ReasonExpired:
		return &core.Termination{Type: core.TerminationError, Code: "expired", Detail: "a decision did not come in time"}
	case ReasonDeadLetter:
		return &core.Termination{Type: core.TerminationError, Code: "dead_letter", Detail: fmt.Sprintf("no progress in %d attempts", MaxAttempts)}
	}
	return nil
}

// Is reports whether a run ended for this reason; of ReasonOwn it is false, whose
// terminations are the run's own.
func (r Reason) Is(t *core.Termination) bool {
	own := r.Termination()
	return own != nil && t != nil && own.Type == t.Type && own.Code == t.Code
}
