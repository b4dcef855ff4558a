// Package position defines the place of an event in the stream of its run, and finds the
// events that a reconnecting reader has missed. Events carry the wire form of a [Position],
// which clients send as the id of the last event that they have.
package position

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Position is the place of an event in the stream of its run: a pure function of the
// committed records, so that a live stream and its replay, in any process, give an event
// the same one. It travels as the id of an SSE frame, in the form
// "run.step.attempt.block-end-kind".
type Position struct {
	Run     core.ID
	Step    int    // from 1; 0 before any step
	Attempt uint64 // fence of the claim that the step's turn was inferred under
	Block   int    // index among the turn's blocks and calls, 0 before all of them, 9999 after
	End     int    // bytes of the block with which the event ends
	Kind    Kind   // orders events that end at the same byte of the same block
}

// Kind is the letter of an event's type in a position.
type Kind byte

// Kinds that readers of a stream treat apart.
const (
	RunStart  Kind = 'a'
	Restart   Kind = 'c' // of step_restarted; attempt 0 is before all attempts at the step
	runFinish Kind = 'm'
	turnDelta Kind = 'p' // a state_delta of the turn's record
	StepDelta Kind = 'q' // one of the step's
	EndDelta  Kind = 'r' // one of the run's end
)

// KindOf returns the letter of an event type; ok is false for one whose events have no
// place in the committed records. A state_delta has the letter of the record that it is of;
// the turn's is returned. A reader may come back to an older program, which refuses a letter
// that it does not know: a new type of event has a known one where the order allows it.
func KindOf(t core.EventType) (kind Kind, ok bool) {
	switch t {
	case core.EventRunStart:
		kind = RunStart
	case core.EventStepStart:
		kind = 'b'
	case core.EventStepRestarted:
		kind = Restart
	case core.EventToolCallStart:
		kind = 'd'
	case core.EventReasoningDelta:
		kind = 'e'
	case core.EventTextDelta:
		kind = 'f'
	case core.EventToolCallDelta:
		kind = 'g'
	case core.EventTextAnnotations, core.EventToolCallReady: // of a text, and of a call: their blocks differ
		kind = 'h'
	case core.EventInferenceComplete:
		kind = 'i'
	case core.EventInferenceFailed:
		kind = 'n'
	case core.EventToolCallDone:
		kind = 'j'
	case core.EventStepEnd:
		kind = 'k'
	case core.EventRunFinish: // 'l' is never used again: it was run_yield's, which has no place
		kind = runFinish
	case core.EventReasoningEncrypted:
		kind = 'o'
	case core.EventStateDelta:
		kind = turnDelta
	case core.EventError:
		kind = 's'
	}
	return kind, kind != 0
}

// The ranks of kinds: events of one step come rank by rank.
const (
	rankRun    = iota + 1 // run_start, which is the run's and no attempt's
	rankStep              // step_start, step_restarted
	rankDelta             // tool_call_start, the deltas and reasoning_encrypted_value: by block and end, the others by block
	rankReady             // when the whole turn was said: text_annotations, by block, then the calls in their order
	rankTurn              // inference_complete or inference_failed, then what the turn changed
	rankResult            // in call order
	rankChange            // what the step changed
	rankEnd
	rankClose // from here on it is the run's end and no step's: what that changed
	rankError
	rankFinish
)

// rank is 0 for a letter that is not a kind.
func (k Kind) rank() int {
	switch k {
	case RunStart:
		return rankRun
	case 'b', Restart:
		return rankStep
	case 'd', 'e', 'f', 'g', 'o':
		return rankDelta
	case 'h':
		return rankReady
	case 'i', 'n', turnDelta:
		return rankTurn
	case 'j':
		return rankResult
	case StepDelta:
		return rankChange
	case 'k':
		return rankEnd
	case EndDelta:
		return rankClose
	case 's':
		return rankError
	case runFinish:
		return rankFinish
	}
	return 0
}

// OfInference reports whether the event is part of what a model said, which
// another attempt at the step makes void.
func (p Position) OfInference() bool { return p.Kind.rank() >= rankStep && p.Kind.rank() <= rankTurn }

// Voids reports whether a reader that has had q learns from an event at p that the step's
// events so far are void: p is of another attempt at the same inference.
func (p Position) Voids(q Position) bool {
	return p.Step == q.Step && p.Attempt != q.Attempt && p.OfInference() && q.OfInference()
}

// OfEnd reports whether the event belongs to the run's end, which follows all steps, even
// if it names a step: a run may end after a step of which a reader has seen more than was
// committed.
func (p Position) OfEnd() bool { return p.Kind.rank() >= rankClose }

// AppendText implements encoding.TextAppender; the error is always nil.
func (p Position) AppendText(b []byte) ([]byte, error) {
	b = p.Run.AppendTo(b)
	b = strconv.AppendInt(append(b, '.'), int64(p.Step), 10)
	b = strconv.AppendUint(append(b, '.'), p.Attempt, 10)
	b = strconv.AppendInt(append(b, '.'), int64(p.Block), 10)
	b = strconv.AppendInt(append(b, '-'), int64(p.End), 10)
	return append(b, '-', byte(p.Kind)), nil
}

// String returns the wire form.
func (p Position) String() string {
	var room [96]byte
	b, _ := p.AppendText(room[:0])
	return string(b)
}

// Parse reads the wire form, which has one spelling for each position.
// Anything else is an Error with code [CodeInvalid].
func Parse(text string) (Position, error) {
	wrong := func() (Position, error) {
		return Position{}, core.Errorf(core.CodeInvalid, "%q is not a position in a run's stream", core.Excerpt(text))
	}
	var p Position
	var fields [5]string
	rest, found := text, false
	for i, separator := range [5]string{".", ".", ".", "-", "-"} {
		if fields[i], rest, found = strings.Cut(rest, separator); !found {
			return wrong()
		}
	}
	run, err := core.ParseID(fields[0])
	if err != nil || len(rest) != 1 {
		return wrong()
	}
	ok := true
	p.Run, p.Kind = run, Kind(rest[0])
	p.Step, ok = number(fields[1], ok)
	p.Block, ok = number(fields[3], ok)
	p.End, ok = number(fields[4], ok)
	p.Attempt, err = strconv.ParseUint(fields[2], 10, 64)
	if !ok || err != nil || p.Kind.rank() == 0 || p.String() != text { // else signs, leading zeros or upper case
		return wrong()
	}
	return p, nil
}

// number reads a count; ok is false if it was false or the text is not a count.
func number(text string, ok bool) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}

// Compare returns -1, 0 or +1: whether p comes before q in the stream of their run. If an
// inference was repeated, the later attempt comes later as a whole. 0 means that a reader
// of the one event does not need the other: they are the same, or the same result under
// another attempt.
func (p Position) Compare(q Position) int {
	if p.OfEnd() || q.OfEnd() { // then the one that is not has a lower rank
		return cmp.Compare(p.Kind.rank(), q.Kind.rank())
	}
	if c := cmp.Compare(p.Step, q.Step); c != 0 {
		return c
	}
	if p.OfInference() && q.OfInference() && p.Attempt != q.Attempt {
		return cmp.Compare(p.Attempt, q.Attempt)
	}
	rank := p.Kind.rank()
	if c := cmp.Or(cmp.Compare(rank, q.Kind.rank()), cmp.Compare(p.Block, q.Block)); c != 0 {
		return c
	}
	if c := cmp.Compare(p.End, q.End); c != 0 && rank == rankDelta {
		return c
	}
	return cmp.Compare(p.Kind, q.Kind)
}

// Behind returns the part of an event, at the given position, that a reader does not have
// who has everything up to another: all of it, the tail of a delta, or nothing, for which
// ok is false.
func Behind(e core.Event, at, had Position) (rest core.Event, ok bool) {
	if at.Compare(had) <= 0 {
		return e, false
	}
	if at.Step == had.Step && at.Attempt == had.Attempt && at.Block == had.Block {
		if n := had.End - (at.End - len(e.Delta)); n > 0 && n < len(e.Delta) {
			e.Delta = e.Delta[n:]
		}
	}
	return e, true
}
