package httpapi

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// position is where an event stands in a run: "run.step.attempt.block-end-kind",
// end counting the bytes of the block so far.
type position struct {
	step       int
	attempt    uint64
	block, end int
	kind       byte
}

// ranks orders the kinds of one step. Events of rank 1 come by block and end,
// the others by block; readiness and results come in call order.
var ranks = map[byte]int{
	'a': 0, 'b': 0, 'c': 0, // run_start, step_start, step_restarted
	'd': 1, 'e': 1, 'f': 1, 'g': 1, // tool_call_start and the deltas
	'h': 2, // tool_call_ready
	'i': 3, // inference_complete
	'j': 4, // tool_call_done
	'k': 5, // step_end
	'm': 6, // run_finish
}

// lastOfTurn is the last rank that belongs to the inference itself.
const lastOfTurn = 3

func (p position) rank() int { return ranks[p.kind] }

func parsePosition(text string, runID core.ID) (position, bool) {
	var p position
	offset, ok := strings.CutPrefix(text, runID.String()+".")
	if !ok {
		return p, false
	}
	n, err := fmt.Sscanf(offset, "%d.%d.%d-%d-%c", &p.step, &p.attempt, &p.block, &p.end, &p.kind)
	if _, known := ranks[p.kind]; err != nil || n != 5 || !known || p.step < 0 || p.block < 0 || p.end < 0 {
		return p, false
	}
	// Sscanf accepts plus signs, leading zeros and a tail.
	return p, offset == fmt.Sprintf("%d.%d.%d-%d-%c", p.step, p.attempt, p.block, p.end, p.kind)
}

// resume drops from a replay what a reconnecting client has. The zero value
// drops nothing.
type resume struct {
	run       core.ID
	last      position // of the client's Last-Event-ID
	active    bool
	restarted bool // step_restarted was sent
}

// resumeFrom reads a Last-Event-ID.
func resumeFrom(header string, runID core.ID) (resume, error) {
	if header == "" {
		return resume{}, nil
	}
	last, ok := parsePosition(header, runID)
	if !ok {
		return resume{}, core.Errorf(core.CodeInvalid, "header Last-Event-ID %q is not a position of run %s", core.Excerpt(header), runID)
	}
	return resume{run: runID, last: last, active: true}, nil
}

// rest returns what of an event the client does not have: the whole event, the
// tail of a delta, or nothing. When the client's part of an inference is void,
// because a later attempt repeated it, step_restarted comes first.
func (r *resume) rest(e core.Event) []core.Event {
	if !r.active {
		return []core.Event{e}
	}
	at, ok := parsePosition(e.Position, r.run)
	switch {
	case !ok:
		return []core.Event{e} // it has no place, so nobody can have it
	case at.kind == 'm' && r.last.kind != 'm':
		return []core.Event{e}
	case at.step != r.last.step:
		if at.step > r.last.step {
			return []core.Event{e}
		}
		return nil
	case at.rank() <= lastOfTurn && r.last.rank() <= lastOfTurn && at.attempt != r.last.attempt:
		return r.retried(at, e)
	}
	return r.after(at, e)
}

// retried handles an event of another attempt at the client's inference.
func (r *resume) retried(at position, e core.Event) []core.Event {
	if at.attempt < r.last.attempt || at.kind == 'a' {
		return nil
	}
	if r.restarted || r.last.kind == 'a' { // after run_start alone, the client has nothing that could be void
		return []core.Event{e}
	}
	r.restarted = true
	return []core.Event{{Type: core.EventStepRestarted, Step: at.step}, e}
}

// after handles an event of the client's step and attempt.
func (r *resume) after(at position, e core.Event) []core.Event {
	if at.rank() != r.last.rank() {
		if at.rank() > r.last.rank() {
			return []core.Event{e}
		}
		return nil
	}
	switch {
	case at.block != r.last.block:
		if at.block > r.last.block {
			return []core.Event{e}
		}
		return nil
	case at.rank() != 1 || at.end == r.last.end:
		if at.kind > r.last.kind {
			return []core.Event{e}
		}
		return nil
	case at.end < r.last.end:
		return nil
	}
	if have := r.last.end - (at.end - len(e.Delta)); have > 0 && have < len(e.Delta) {
		e.Delta = e.Delta[have:]
	}
	return []core.Event{e}
}
