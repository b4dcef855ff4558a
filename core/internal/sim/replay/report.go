package replay

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Report is the outcome of a run's replay.
type Report struct {
	Thread  core.ThreadKey
	Run     core.ID
	Agent   string
	Steps   int // with a turn in the log
	Records int // of the run in the log
	// Skipped is why the run was not replayed; empty: it was.
	Skipped    string
	Difference *Difference // the first one; nil: no difference
}

// String returns the report as lines for people, without a newline at its end.
func (r Report) String() string {
	line := fmt.Sprintf("thread %s run %s (agent %s, %d steps, %d records): ", r.Thread.Thread, r.Run, r.Agent, r.Steps, r.Records)
	switch {
	case r.Skipped != "":
		return line + "not replayed: " + r.Skipped
	case r.Difference != nil:
		return line + "differs\n" + r.Difference.String()
	}
	return line + "the same"
}

// Where says in what a difference was found.
type Where string

// The places, in the order in which they are compared.
const (
	WhereLog    Where = "log"           // a record of the log
	WhereRound  Where = "waiting round" // the state of a round when it started to wait
	WhereRun    Where = "run record"    // how the run ended, its usage and its text
	WhereState  Where = "state"         // what the log folds to
	WhereEvents Where = "events"        // the stream that is cut from the log
	WhereReplay Where = "replay"        // the replay itself failed, as Present says
	whereUntold Where = "untold"        // within the package: the record does not say
)

// Difference is the first thing that the present code does otherwise than the record
// has it.
type Difference struct {
	Thread   core.ThreadKey
	Run      core.ID
	Step     int    // 0: before the first step, or of no step
	Seq      uint64 // in the log; 0: not there
	Where    Where
	Field    string // of the record, as its JSON has it; empty: the record as a whole
	By       string // whose work the field is, as far as the record tells
	Key      string // state key; empty: none, or not known
	Plugin   string // that has the key; empty: none, or not known
	Recorded string // bytes of the field; empty: absent
	Present  string
	// Unstable: two replays differed from each other there, so that the record does not
	// determine the code's action: the code reads a clock, randomness or other values than
	// its arguments.
	Unstable bool
}

// String returns the difference as lines for people, each indented by two blanks.
func (d Difference) String() string {
	var at []string
	add := func(what, value string) {
		if value != "" && value != "0" {
			at = append(at, what+" "+value)
		}
	}
	add("step", fmt.Sprint(d.Step))
	add("sequence", fmt.Sprint(d.Seq))
	add("field", d.Field)
	add("state key", d.Key)
	add("plugin", d.Plugin)
	add("from", d.By)
	lines := []string{"  " + strings.Join(append([]string{string(d.Where)}, at...), ", ")}
	lines = append(lines, "  recorded: "+shown(d.Recorded), "  present:  "+shown(d.Present))
	if d.Unstable {
		lines = append(lines, "  two replays differ from each other there: the code reads a clock, randomness or another value that the runtime does not pass to it")
	}
	return strings.Join(lines, "\n")
}

// shown is a value as people read it.
func shown(value string) string {
	const limit = 2000 // bytes
	switch {
	case value == "":
		return "nothing"
	case len(value) > limit:
		return strings.ToValidUTF8(value[:limit], "") + fmt.Sprintf("... (%d bytes)", len(value))
	}
	return value
}
