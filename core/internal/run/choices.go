package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Choices decides what the records before it do not: the times of events, and
// everything that depends on the process and its neighbours. A run that happens now
// takes it from its clock and its surroundings. A replay (core/internal/sim/replay)
// takes it from the run's records, so that the code makes the same records again.
// There is no other difference between the two.
//
// If a method returns fixed as false, the step decides by itself.
type Choices interface {
	// Time returns when something happens, in unix milliseconds; 0: it is not known.
	Time(Instant) int64
	// Member returns the pool's part in the record of a step's turn, or of its failed
	// inference; nil: nothing. If it is fixed, the step leaves no member.
	Member(run core.ID, step int) (m *thread.Member, fixed bool)
	// Summary returns the window of a step's turn, or the note about summaries in the
	// record of its failed inference; nil: nothing. If it is fixed, the step makes no
	// summary and asks for none, and uses those that the window names.
	Summary(run core.ID, step int) (w *core.Window, fixed bool)
	// Unfinished returns the step that the run's end has cut short; nil: none. If it is
	// fixed, it does not matter what the process knows of such a step.
	Unfinished(run core.ID) (u *thread.Unfinished, fixed bool)
	// Counted returns how many tokens count as those of the request of a step's turn:
	// tokens is its provider's count.
	Counted(run core.ID, step, tokens int) int
	// Known returns what counts as the model's window as refusals have told it before a
	// step's request was chosen: tokens is what this process has been told; 0: nothing.
	Known(run core.ID, step, tokens int) int
	// Place returns the place of a call's result in the order in which those of a parallel
	// round are merged, see [thread.Entry]. next is the one that comes next; 0: none is to
	// be given. If it is fixed, a result is held back until those before it have come.
	Place(run core.ID, step, call, next int) (place int, fixed bool)
	// Acts reports whether what the run does to others happens: effects run, and calls count
	// for the circuits of models.
	Acts() bool
}

// Instant is a point in a run whose time is stored with what happens there.
type Instant struct {
	Kind    InstantKind
	Run     core.ID
	Step    int   // of InstantStep, InstantSaid and those of calls; from 1
	Call    int   // its index in the turn
	Decided int   // of InstantAsked: how many suspensions of the call were decided before
	Round   int64 // of those of calls: when this claim began the round; of InstantFirst: when the first claim that is known was taken
}

// InstantKind is the kind of an [Instant].
type InstantKind uint8

// The kinds of instants.
const (
	InstantRun         InstantKind = iota // the claim begins the run's first step
	InstantStep                           // the claim begins a step after it
	InstantSaid                           // the turn of a step is complete, or a run's last words are said
	InstantEnd                            // the run ends
	InstantAsked                          // the start of the round in which a call's gates run: the clock of its gates, hooks and tool
	InstantResultRound                    // the start of the round that gave a call's result
	InstantResult                         // a call's result was made
	InstantFirst                          // the run was claimed for the first time
)

// present are the Choices of a run that happens now.
type present struct{ env *env.Env }

// Time implements Choices: it is now, or when this claim began the round.
func (p present) Time(at Instant) int64 {
	switch at.Kind {
	case InstantAsked, InstantResultRound, InstantFirst:
		return at.Round
	}
	return p.env.Millis()
}

// Member implements Choices.
func (present) Member(core.ID, int) (*thread.Member, bool) { return nil, false }

// Summary implements Choices.
func (present) Summary(core.ID, int) (*core.Window, bool) { return nil, false }

// Unfinished implements Choices.
func (present) Unfinished(core.ID) (*thread.Unfinished, bool) { return nil, false }

// Counted implements Choices.
func (present) Counted(_ core.ID, _, tokens int) int { return tokens }

// Known implements Choices.
func (present) Known(_ core.ID, _, tokens int) int { return tokens }

// Place implements Choices.
func (present) Place(_ core.ID, _, _, next int) (int, bool) { return next, false }

// Acts implements Choices.
func (present) Acts() bool { return true }

// The time of each record is requested in one place, and nowhere else.
