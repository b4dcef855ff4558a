package thread

import "github.com/reveille-run/reveille/core"

// Attempt is a call of a model for a turn. Calls that continue a turn after its model's
// limit of tokens belong to the first of them. Times are unix milliseconds.
type Attempt struct {
	Began  int64  `json:"began"`
	Ended  int64  `json:"ended,omitempty"`
	First  int64  `json:"first,omitempty"`  // when the first piece of the turn came; 0: none came
	Model  string `json:"model,omitempty"`  // the provider's name of it
	Reason string `json:"reason,omitempty"` // why it failed: a model.ErrorKind, or how the run ended; empty: it made the turn
	Wait   int64  `json:"wait,omitempty"`   // the pause before the next one, in milliseconds
}

// MaxKeptAttempts bounds the attempts that a record keeps: the newest. Their number is
// [Entry.Retried], over all deliveries.
const MaxKeptAttempts = 16

// KeepAttempt appends an attempt to a list, and drops the oldest one if there are too many.
func KeepAttempt(list []Attempt, a Attempt) []Attempt {
	if len(list) >= MaxKeptAttempts {
		list = append(list[:0:0], list[1:]...)
	}
	return append(list, a)
}

// Unfinished is the step that a run's end has cut short: its model was called, and the log
// has no turn of it, but maybe the run's last words. It is known if the process that called
// the model has ended the run.
type Unfinished struct {
	Step     int        `json:"step"`
	At       int64      `json:"at,omitempty"` // when its claim began the step
	Ended    int64      `json:"ended,omitempty"`
	Queued   int64      `json:"queued,omitempty"` // as in [Entry]
	Retried  uint8      `json:"retried,omitempty"`
	Duration int64      `json:"duration,omitempty"` // of the model's calls, milliseconds
	Usage    core.Usage `json:"usage,omitzero"`
	Attempts []Attempt  `json:"attempts,omitempty"` // the last one was cut short, or failed permanently
}
