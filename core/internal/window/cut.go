package window

import (
	"math"

	"github.com/reveille-run/reveille/core"
)

// Request is what a step knows of its request to a model before it decides how much of
// the thread that shows. All sizes are in tokens.
type Request struct {
	History History     // of the thread, from the newest turn's cut on
	Last    core.Window // what the newest turn's model was shown
	Run     core.ID     // that the request is for
	// Opening is the first message of the run, at a sequence of the log; nil: nothing.
	// Front is the message that Last.Opening names; nil: none.
	Opening  *core.Message
	OpenedAt uint64
	Front    *core.Message
	Fixed    int // the estimated size of the request without the history: tools, system prompt, context, summary

	Limit int // what the request may cost
	Most  int // what the model takes at most; less than Limit: Limit
	Keep  int // newest messages that are shown at any cost, up to Most

	// Reckoned is what an earlier request was estimated at, and Counted what the model's
	// provider counted for it. 0: nothing is known, and the estimate is all there is.
	Reckoned, Counted int
	// PerByte is what a byte costs, in thousandths of a token; 0: 250.
	PerByte int
	// Sum is what earlier requests of the thread have measured, and takes what this one
	// measures; nil: nothing, and everything is measured each time.
	Sum *Sum
}

// Next returns the window of the request: the same as the newest turn's, and later
// messages, as long as that is within the limit. Else it cuts, to three quarters of the
// limit's share for the history, so that many steps start alike: large old results become
// references, then the oldest messages are omitted, then newer results become references as
// well. No call is parted from its results, and the newest messages stay.
//
// It depends on the request alone: a repeated call returns the same.
func (r Request) Next() core.Window {
	limit, most := r.reckon(r.Limit), r.reckon(max(r.Limit, r.Most))
	w := r.window(0, r.Last.Short)
	if w.Estimate > limit {
		w = r.cut(limit-max(0, limit-r.Fixed)/4, limit, most)
	}
	return w
}

// Size estimates the request that shows the same as the newest turn's, and what came
// since, as its provider counts tokens.
func (r Request) Size() int {
	size := r.window(0, r.Last.Short).Estimate
	if r.believed() {
		size = int(int64(size) * int64(r.Counted) / int64(r.Reckoned))
	}
	return size
}

// Again returns the window of the request after the provider has refused it under a window
// as too long: a quarter less at least, newest messages included except the last turn with
// its results. An earlier count of the provider is used only as far as it makes the request
// shorter. ok is false if nothing can be cut.
func (r Request) Again(refused core.Window) (w core.Window, ok bool) {
	target := min(r.reckon(r.Limit), r.Limit, refused.Estimate) * 3 / 4
	switch refused.Opening {
	case 0:
		r.Front = nil
	case r.OpenedAt:
		r.Front = r.Opening
	}
	r.Last, r.History = refused, r.History.From(refused.First)
	w = r.cut(target, target, target)
	return w, w.Estimate < r.cost(0, refused.Short)
}

// reckon turns tokens as the provider counts them into tokens as they are estimated
// here. A count of more than four times the estimate, or less than a quarter, is not
// believed.
func (r *Request) reckon(tokens int) int {
	if !r.believed() {
		return tokens
	}
	return int(int64(tokens) * int64(r.Reckoned) / int64(r.Counted))
}

func (r *Request) believed() bool {
	return r.Counted > 0 && r.Reckoned > 0 && r.Counted <= 4*r.Reckoned && r.Reckoned <= 4*r.Counted
}

// cut tries what it may leave out in the order in which it hurts less.
func (r *Request) cut(target, limit, most int) core.Window {
	keep, newest := r.keeps(), r.newest()
	old, recent := r.shortTo(keep), r.shortTo(newest)
	for _, c := range []struct {
		from, to int
		short    uint64
		target   int
	}{
		{0, keep, old, target},         // large old results, then the oldest messages
		{0, keep, recent, target},      // large results before the newest turn
		{keep, keep, recent, limit},    // which is then cut again soon
		{0, keep, everything, target},  // the newest turn's
		{keep, keep, everything, most}, // which is more than was wished
		{keep, newest, recent, target}, // messages that were to be kept
		{keep, newest, everything, most},
	} {
		if first, ok := r.fit(c.from, c.to, c.short, c.target); ok {
			return r.window(first, c.short)
		}
	}
	return r.window(newest, everything)
}

// everything is after all sequences.
const everything = math.MaxUint64

// window is that which begins with a message; results before short are references.
func (r *Request) window(first int, short uint64) core.Window {
	w := r.Last
	if first > 0 {
		w.First, w.Opening = r.History.sequence(first), 0
	}
	if r.opensBefore(first) {
		w.Opening = r.OpenedAt
	}
	if short == everything {
		short = 0 // a summary replaces all of it
		if len(r.History.Messages) > 0 {
			short = r.History.next()
		}
	}
	w.Short = max(w.Short, short)
	w.Estimate = r.cost(first, w.Short)
	return w
}

// fit returns the oldest message between two with which a window can begin that costs
// no more than the target.
func (r *Request) fit(from, to int, short uint64, target int) (first int, ok bool) {
	sum := r.Fixed
	short = max(short, r.Last.Short)
	for i := len(r.History.Messages) - 1; i >= from; i-- {
		sum += r.costOf(i, short)
		if sum > target {
			break
		}
		if i <= to && (i == 0 || r.begins(i)) && sum+r.front(i) <= target {
			first, ok = i, true
		}
	}
	return first, ok
}

// cost estimates the request that shows the history from a message on.
func (r *Request) cost(first int, short uint64) int {
	sum := r.Fixed + r.front(first)
	if first == 0 && r.Sum != nil {
		return sum + r.Sum.of(r, short)
	}
	for i := first; i < len(r.History.Messages); i++ {
		sum += r.costOf(i, short)
	}
	return sum
}

// costOf estimates one message.
func (r *Request) costOf(i int, short uint64) int {
	m := &r.History.Messages[i]
	if m.ToolResult != nil && r.History.sequence(i) < short && large(m) {
		size := referenceBytes
		if len(m.ToolResult.Content) > 0 {
			size += omittedBytes
		}
		return frame + size*r.perByte()/1000
	}
	return tokens(m, r.perByte())
}

func (r *Request) perByte() int { return orDefault(r.PerByte) }

// opensBefore reports whether the run's first message is older than a message, or than the
// end of the history: a summary may replace the whole history.
func (r *Request) opensBefore(i int) bool {
	return r.Opening != nil && (i >= len(r.History.Messages) || r.OpenedAt < r.History.sequence(i))
}

// front is the cost of the message before the history if that is shown from a message on.
func (r *Request) front(first int) int {
	switch {
	case r.opensBefore(first):
		return tokens(r.Opening, r.perByte())
	case first == 0 && r.Front != nil:
		return tokens(r.Front, r.perByte())
	}
	return 0
}

// begins reports whether a window may start with a message: with a person's input, or with
// a turn of the newest run, or of one that it continues, which its opening precedes, or a
// note.
func (r *Request) begins(i int) bool {
	m := &r.History.Messages[i]
	last := &r.History.Messages[len(r.History.Messages)-1]
	if m.IsInput() || m.Role != core.RoleAssistant {
		return m.IsInput()
	}
	return m.RunID == r.Run || m.RunID == last.RunID || r.Opening != nil && r.OpenedAt < r.History.sequence(i)
}

// keeps is the newest message with which a window may begin that has all that is to be
// kept.
func (r *Request) keeps() int {
	for i := len(r.History.Messages) - max(r.Keep, 1); i > 0; i-- {
		if r.begins(i) {
			return i
		}
	}
	return 0
}

// newest is the newest message with which a window may begin.
func (r *Request) newest() int {
	for i := len(r.History.Messages) - 1; i > 0; i-- {
		if r.begins(i) {
			return i
		}
	}
	return 0
}

// shortTo is the sequence up to which results become references where those from a
// message on do not.
func (r *Request) shortTo(i int) uint64 {
	if i >= len(r.History.Messages) {
		return 0
	}
	return r.History.sequence(i)
}
