package run

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// An error decides the fate of the run: an ended one that it is over, one of
// thread's that the claim or the run is, any other that the step is tried again.
// Code of users never chooses: hooks, gates and fatal tools come through endWith.

// ended is an error that ends the run instead of the delivery.
type ended struct {
	termination core.Termination
	cause       error
}

func (e *ended) Error() string { return e.cause.Error() }

func (e *ended) Unwrap() error { return e.cause }

// endWith ends the run with an error. The cause is for the log alone: it may quote
// anything.
func endWith(code string, cause error) error { return endAt(code, "", cause) }

// endAt is endWith with the place of the error, for clients and the log; empty: the
// code names the place.
func endAt(code, where string, cause error) error {
	t := core.Termination{Type: core.TerminationError, Code: code, Detail: detail(code, where, cause)}
	if where != "" {
		cause = fmt.Errorf("%s: %w", where, cause)
	}
	return &ended{t, cause}
}

// failure is what a log line says of an error: of a panic, where it was too.
func failure(err error) []any { return env.ErrorAttrs(err) }

// ending is how a step's run continues: not at all when it has a termination.
type ending struct {
	termination *core.Termination
	natural     bool // the model reached the end by itself: unread input makes the run continue
}

// naturalEnd is the end of a run whose model ended it by itself. If the turn was
// cut short, the code has the reason: to a client it reads like any other.
func naturalEnd(turn core.Message) *core.Termination {
	end := &core.Termination{Type: core.TerminationNatural}
	switch turn.StopReason {
	case core.StopMaxTokens, core.StopContentFilter, core.StopContextOverflow:
		end.Code = string(turn.StopReason)
	}
	return end
}
