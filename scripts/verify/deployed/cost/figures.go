package cost

import (
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core/strict"
)

// Figures are what was measured.
type Figures struct {
	Day      string          `json:"day"`       // on which it was, YYYY-MM-DD
	MemoryMB int             `json:"memory_mb"` // of each function
	Work     map[string]Work `json:"work"`      // by the names below
	// Live is how many write units a second of inference costs while a client follows the
	// run in another process.
	Live float64 `json:"live_write_units_per_second"`
	// Mark is how many read units a second of inference costs to see whether one does.
	Mark float64 `json:"mark_read_units_per_second"`
	// Look is the number of read units for a second of a stream whose run waits.
	Look float64 `json:"look_read_units_per_second"`
	// Cold is the first step of a run in a new process.
	Cold Cold `json:"cold"`
	// Reads are what that step reads, by the size of the conversation.
	Reads []Reading `json:"cold_reads"`
}

// The names of the measured pieces of work.
const (
	Submission = "submission" // to an existing thread, through the API that does not stream
	Calls      = "calls"      // a run's first step: a text and two tool calls
	Answer     = "answer"     // its second and last: a text
	Chat       = "chat"       // the same two steps while a request streams them
	Sweep      = "sweep"      // of a stack in which nothing is due
	Wait       = "wait"       // a run's first step: a text and a call that waits for a time
	Early      = "early"      // a hint while the call waits
	Wake       = "wake"       // the step that the call's time begins
	Delegate   = "delegate"   // a run's first step: a text and a call that starts a child run
	Child      = "child"      // the child run: a text, and the notice to its parent
	ChildEnd   = "child_end"  // the parent's step that continues with the child's end
)

// Work is the cost of one piece of work: the median of several, so that rare additional work
// is not included.
type Work struct {
	Write       float64 `json:"write_units"`
	Read        float64 `json:"read_units"`
	Queue       int     `json:"queue_requests"` // the receive and the delete of the mapping among them
	Invocations int     `json:"invocations"`
	Handler     float64 `json:"handler_ms"` // from the event to the response, with models and tools that take no time
	CPU         float64 `json:"cpu_ms"`
}

// Cold is the cost of a start.
type Cold struct {
	Init     float64 `json:"init_ms"`
	Handler  float64 `json:"handler_ms"`
	CPU      float64 `json:"cpu_ms"`
	MemoryMB int     `json:"peak_memory_mb"` // of a process that has taken all the steps
}

// Reading is what the first step of a run reads in a new process, for one size of conversation,
// all of which the model is shown.
type Reading struct {
	Tokens   int     `json:"tokens"`
	Messages int     `json:"messages"`
	Units    float64 `json:"read_units"`
}

// Runs is the number of measurements of each piece of work.
const Runs = 9

// names are the pieces of work that figures must have.
var names = []string{Submission, Calls, Answer, Chat, Sweep, Wait, Early, Wake, Delegate, Child, ChildEnd}

// Parse reads figures. An unknown key and a missing piece of work are errors.
func Parse(text []byte) (Figures, error) {
	var f Figures
	if err := strict.Decode(text, &f); err != nil {
		return Figures{}, fmt.Errorf("figures: %w", err)
	}
	if _, err := time.Parse(time.DateOnly, f.Day); err != nil {
		return Figures{}, fmt.Errorf("figures: day %q is not a date, want YYYY-MM-DD", f.Day)
	}
	for _, name := range names {
		if _, ok := f.Work[name]; !ok {
			return Figures{}, fmt.Errorf("figures: work %q is missing", name)
		}
	}
	if len(f.Reads) == 0 {
		return Figures{}, errors.New("figures: cold_reads are missing")
	}
	return f, nil
}

// Units are the figures without the times, which differ from machine to machine, and without
// cold reads, which differ by a unit.
func (f Figures) Units() Figures {
	f.Day, f.Cold, f.Reads = "", Cold{}, nil
	work := map[string]Work{}
	for name, w := range f.Work {
		w.Handler, w.CPU = 0, 0
		work[name] = w
	}
	f.Work = work
	return f
}
