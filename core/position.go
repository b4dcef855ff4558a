package core

import (
	"cmp"
	"strconv"
	"strings"
)

// Position is where an event stands in the stream of its run: a pure function of
// what is committed, so that a live stream and its replay, in whichever process,
// give an event the same one. It travels as the id of an SSE frame, in the form
// "run.step.attempt.block-end-kind".
type Position struct {
	Run     ID
	Step    int          // from 1; 0 before any step
	Attempt uint64       // fence of the claim that the step's turn was inferred under
	Block   int          // index among the turn's blocks and calls, 0 before all of them, 9999 behind
	End     int          // bytes of the block with which the event ends
	Kind    PositionKind // orders events that end at the same byte of the same block
}

// PositionKind is the letter of an event's type in a position.
type PositionKind byte

// Kinds that readers of a stream treat apart.
const (
	PositionRunStart  PositionKind = 'a'
	PositionRestart   PositionKind = 'c' // of step_restarted; attempt 0 is before all attempts at the step
	positionRunFinish PositionKind = 'm'
	positionTurnDelta PositionKind = 'p' // a state_delta of the turn's record
	PositionStepDelta PositionKind = 'q' // one of the step's
	PositionEndDelta  PositionKind = 'r' // one of the run's end
)

// PositionKind returns the letter of the type; ok is false for one whose events
// have no place of their own in what is committed. A state_delta has the letter of
// the record that it is of; the turn's is returned.
func (t EventType) PositionKind() (kind PositionKind, ok bool) {
	switch t {
	case EventRunStart:
		kind = PositionRunStart
	case EventStepStart:
		kind = 'b'
	case EventStepRestarted:
		kind = PositionRestart
	case EventToolCallStart:
		kind = 'd'
	case EventReasoningDelta:
		kind = 'e'
	case EventTextDelta:
		kind = 'f'
	case EventToolCallDelta:
		kind = 'g'
	case EventToolCallReady:
		kind = 'h'
	case EventInferenceComplete:
		kind = 'i'
	case EventInferenceFailed:
		kind = 'n'
	case EventToolCallDone:
		kind = 'j'
	case EventStepEnd:
		kind = 'k'
	case EventRunFinish: // 'l' is never used again: it was run_yield's, which has no place
		kind = positionRunFinish
	case EventReasoningEncrypted:
		kind = 'o'
	case EventStateDelta:
		kind = positionTurnDelta
	case EventError:
		kind = 's'
	}
	return kind, kind != 0
}

// The ranks of kinds: events of one step come rank by rank.
const (
	rankRun    = iota + 1 // run_start, which is the run's and no attempt's
	rankStep              // step_start, step_restarted
	rankDelta             // tool_call_start, the deltas and reasoning_encrypted_value: by block and end, the others by block
	rankReady             // in call order, when all arguments are complete
	rankTurn              // inference_complete or inference_failed, then what the turn changed
	rankResult            // in call order
	rankChange            // what the step changed
	rankEnd
	rankClose // from here on it is the run's end and no step's: what that changed
	rankError
	rankFinish
)

// rank is 0 for a letter that is no kind.
func (k PositionKind) rank() int {
	switch k {
	case PositionRunStart:
		return rankRun
	case 'b', PositionRestart:
		return rankStep
	case 'd', 'e', 'f', 'g', 'o':
		return rankDelta
	case 'h':
		return rankReady
	case 'i', 'n', positionTurnDelta:
		return rankTurn
	case 'j':
		return rankResult
	case PositionStepDelta:
		return rankChange
	case 'k':
		return rankEnd
	case PositionEndDelta:
		return rankClose
	case 's':
		return rankError
	case positionRunFinish:
		return rankFinish
	}
	return 0
}

// OfInference reports whether the event is part of what a model said, which
// another attempt at the step makes void.
func (p Position) OfInference() bool { return p.Kind.rank() >= rankStep && p.Kind.rank() <= rankTurn }

// Voids reports whether a reader that has had q learns from an event at p that what it
// was shown of the step is void: p is of another attempt at the same inference.
func (p Position) Voids(q Position) bool {
	return p.Step == q.Step && p.Attempt != q.Attempt && p.OfInference() && q.OfInference()
}

// OfEnd reports whether the event belongs to the run's end, which comes behind all
// steps, whatever step it names: a run may end behind a step that a reader was shown
// more of than was committed.
func (p Position) OfEnd() bool { return p.Kind.rank() >= rankClose }

// AppendText implements encoding.TextAppender; the error is always nil.
func (p Position) AppendText(b []byte) ([]byte, error) {
	run := p.Run.text()
	b = append(b, run[:]...)
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

// ParsePosition reads the wire form, which has one spelling for each position.
// Anything else is an Error with code [CodeInvalid].
func ParsePosition(text string) (Position, error) {
	wrong := func() (Position, error) {
		return Position{}, Errorf(CodeInvalid, "%q is not a position in a run's stream", Excerpt(text))
	}
	var p Position
	var fields [5]string
	rest, found := text, false
	for i, separator := range [5]string{".", ".", ".", "-", "-"} {
		if fields[i], rest, found = strings.Cut(rest, separator); !found {
			return wrong()
		}
	}
	run, err := ParseID(fields[0])
	if err != nil || len(rest) != 1 {
		return wrong()
	}
	ok := true
	p.Run, p.Kind = run, PositionKind(rest[0])
	p.Step, ok = number(fields[1], ok)
	p.Block, ok = number(fields[3], ok)
	p.End, ok = number(fields[4], ok)
	p.Attempt, err = strconv.ParseUint(fields[2], 10, 64)
	if !ok || err != nil || p.Kind.rank() == 0 || p.String() != text { // else signs, leading zeros or upper case
		return wrong()
	}
	return p, nil
}

// number reads a count; ok is false if it was or the text is none.
func number(text string, ok bool) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}

// Compare returns -1, 0 or +1: whether p comes before q in the stream of their
// run. Of an inference that was repeated the later attempt comes later as a
// whole. 0 says that who has had the one event needs not the other: they are the
// same, or the same result under another attempt.
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
