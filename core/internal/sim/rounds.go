package sim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// openRound is the state of a round that waits.
type openRound struct {
	base   uint64
	merged []int
}

// checkRound looks at the open round's record that a write puts in force: it is of this
// turn, continues the previous one, and has no call that readers do not see.
func (lo *logged) checkRound(a, b *thread.Head) {
	if b.Run.Round == 0 || b.Run.Round == a.Run.Round {
		return
	}
	name := recordname.Round(b.Run.ID, b.Run.Round)
	r, ok := lo.th.p.record(name)
	if !ok {
		lo.th.fail("the round %s is in force and not stored", name)
		return
	}
	var round thread.RoundRecord
	if err := lo.th.w.checks.Decode("round", r.Payload, &round); err != nil || round.Turn != b.Run.Base-1 {
		lo.th.fail("the round %s is of turn %d, the head's is %d (%v)", name, round.Turn, b.Run.Base-1, err)
		return
	}
	was := &lo.th.asks.round
	if was.base != b.Run.Base {
		*was = openRound{base: b.Run.Base}
	}
	if len(round.Merged) < len(was.merged) || !slices.Equal(round.Merged[:len(was.merged)], was.merged) {
		lo.th.fail("the round %s has merged %v, the previous round %v", name, round.Merged, was.merged)
	}
	for n, i := range round.Merged {
		if slices.Contains(round.Merged[:n], i) || b.Run.Calls[i] != thread.CallDone {
			lo.th.fail("the round %s has merged %v, the calls are %v", name, round.Merged, b.Run.Calls)
		}
	}
	was.merged = round.Merged
}

// checkOrderOf: what the tools of a round asked for was applied in the order that their
// results say, which is call order where the calls ran one after the other.
func (lo *logged) checkOrderOf(trail []string) {
	if lo.turnSeq == 0 {
		return
	}
	var got []int
	calls := lo.entries[lo.turnSeq-1].Message.ToolCalls
	for _, name := range trail {
		key, ok := strings.CutPrefix(name, "tool.")
		if !ok {
			continue
		}
		for i, call := range calls {
			if callKey(string(call.Arguments)) == key {
				got = append(got, i)
			}
		}
	}
	var want []int
	for i := range calls {
		want = append(want, i)
	}
	place := func(i int) int { return int(lo.entries[lo.turnSeq+uint64(i)].Place) }
	slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	lo.checkLine(place)
	want = slices.DeleteFunc(want, func(i int) bool { return !slices.Contains(got, i) })
	if !slices.Equal(got, want) {
		lo.th.fail("the calls of the turn at %d were applied in the order %v, their results have %v", lo.turnSeq, got, want)
	}
}

// checkLine looks at the results of the round that was closed last: each place is one
// result's, and a change that could not be applied after a sibling's is not made.
func (lo *logged) checkLine(place func(call int) int) {
	given, seats, lined, refused := map[int]bool{}, 0, false, false
	calls := lo.entries[lo.turnSeq-1].Message.ToolCalls
	for i := range calls {
		e := lo.entries[lo.turnSeq+uint64(i)]
		if p := place(i); p > 0 {
			if given[p] {
				lo.th.fail("two results of the turn at %d have place %d", lo.turnSeq, p)
			}
			for j := range i {
				if place(j) > p {
					lo.th.w.did(LineOutOfOrder)
				}
			}
			given[p], lined = true, true
		}
		if e.Intents != nil && slices.ContainsFunc(e.Intents.Batch.Mutations, func(m state.Mutation) bool { return m.Key == seatKey.Name }) {
			seats++
		}
		refused = refused || e.Message != nil && e.Message.ToolResult != nil && refusedInLine(e.Message.ToolResult)
	}
	if seats > 1 {
		lo.th.fail("%d calls of the turn at %d have taken the seat", seats, lo.turnSeq)
	}
	if lined && refused {
		lo.th.w.did(RefusedInLine)
	}
}

// refusedInLine reports whether a result is the refusal of its call's change.
func refusedInLine(r *core.ToolResult) bool {
	return r.Status == core.ResultError && strings.HasSuffix(r.Text(), "its change of the state does not apply")
}
