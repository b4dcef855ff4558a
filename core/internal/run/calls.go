package run

import (
	"cmp"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// calls are the calls of a round, in the order in which the turn made them. The
// methods depend on them alone: a caller need not think of the head, the store or
// the mode in which the round runs.
type calls []call

// index is the index of the first call that is as f says; -1: none is.
func (all calls) index(f func(c *call) bool) int {
	for i := range all {
		if f(&all[i]) {
			return i
		}
	}
	return -1
}

// any reports whether a call is as f says.
func (all calls) any(f func(c *call) bool) bool { return all.index(f) >= 0 }

// open reports whether a call has no result yet. A round that is open when nothing
// runs waits for decisions.
func (all calls) open() bool { return all.any(func(c *call) bool { return c.stage != concluded }) }

// failed reports whether the round, which is whole, has failed.
func (all calls) failed() bool {
	var round thread.Outcomes
	for i := range all {
		round.Add(all[i].result.entry.Message.ToolResult)
	}
	return round.Failed()
}

// blocked is the index of the first call that a gate ended the run over; -1: none.
func (all calls) blocked() int {
	return all.index(func(c *call) bool {
		return c.stage == concluded && c.result.entry.Message.ToolResult.Status == core.ResultBlocked
	})
}

// end is how the run ends after the round; nil: it continues.
func (all calls) end() *core.Termination {
	i := all.blocked()
	if i < 0 {
		return nil
	}
	return &core.Termination{Type: core.TerminationBlocked, Detail: all[i].result.entry.Blocked}
}

// lastSaid is when the last of the results was made, unix milliseconds. The round is whole.
func (all calls) lastSaid() (at int64) {
	for i := range all {
		at = max(at, all[i].result.entry.Message.CreatedAt)
	}
	return at
}

// ahead reports whether a call has a result that the statuses of a head do not show
// yet.
func (all calls) ahead(of []thread.CallStatus) bool {
	for i := range all {
		if all[i].stage == concluded && of[i] != thread.CallDone {
			return true
		}
	}
	return false
}

// holding reports whether results are held back.
func (all calls) holding() bool { return all.any(func(c *call) bool { return c.stage == held }) }

// mayStore reports whether the result of call i can be stored: those before it in
// the line are, if it has a place there. So the places of the stored results have
// no gap, whenever a crash comes.
func (all calls) mayStore(i int) bool {
	place := all[i].result.entry.Place
	return !all.any(func(c *call) bool {
		return c.stage == concluded && !c.stored() && 0 < c.result.entry.Place && c.result.entry.Place < place
	})
}

// inLine are the calls in the order of their results' places; those without come first,
// in call order.
func (all calls) inLine() []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	place := func(i int) int {
		if e := all[i].result.entry; e != nil {
			return int(e.Place)
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	return order
}

// merged are the calls that the draft has merged, in the order in which it did.
func (all calls) merged() []int {
	most := 0
	for i := range all {
		most = max(most, all[i].result.merged)
	}
	order := make([]int, most)
	for i := range all {
		if n := all[i].result.merged; n > 0 {
			order[n-1] = i
		}
	}
	return order
}

// effects are the effects of call i, of its tool and of the hooks before and after
// it, in the order of their requests. Those of gates and tool are in the stored
// result; those of AfterToolExecute are known to this claim alone.
func (all calls) effects(i int) (effects []state.Effect) {
	entry := all[i].result.entry
	if entry != nil && entry.Hooks != nil {
		effects = append(effects, entry.Hooks.Effects...)
	}
	if entry != nil && entry.Intents != nil {
		effects = append(effects, entry.Intents.Effects...)
	}
	return append(effects, all[i].result.effects...)
}

// changes reports whether a command changes the state.
func changes(c *state.Command) bool { return c != nil && len(c.Batch.Mutations)+len(c.Actions) > 0 }

// changesState reports whether a result changes the state.
func changesState(e *thread.Entry) bool { return e != nil && (changes(e.Hooks) || changes(e.Intents)) }
