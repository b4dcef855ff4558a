package sim

import (
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// openRound is what a round that waits has come to.
type openRound struct {
	base   uint64
	merged []int
}

// checkRound looks at the open round's record that a write puts in force: it is of
// this turn, goes on from the one before, and has no call that readers do not see.
func (th *threadState) checkRound(a, b *thread.Head) {
	if b.Run.Round == 0 || b.Run.Round == a.Run.Round {
		return
	}
	name := store.RoundName(b.Run.ID, b.Run.Round)
	r, ok := th.p.record(name)
	if !ok {
		th.fail("the round %s is in force and not stored", name)
		return
	}
	var round thread.RoundRecord
	if err := th.w.checks.Decode("round", r.Payload, &round); err != nil || round.Turn != b.Run.Base-1 {
		th.fail("the round %s is of turn %d, the head's is %d (%v)", name, round.Turn, b.Run.Base-1, err)
		return
	}
	was := &th.asks.round
	if was.base != b.Run.Base {
		*was = openRound{base: b.Run.Base}
	}
	if len(round.Merged) < len(was.merged) || !slices.Equal(round.Merged[:len(was.merged)], was.merged) {
		th.fail("the round %s has merged %v, the one before it %v", name, round.Merged, was.merged)
	}
	for n, i := range round.Merged {
		if slices.Contains(round.Merged[:n], i) || b.Run.Calls[i] != thread.CallDone {
			th.fail("the round %s has merged %v, the calls are %v", name, round.Merged, b.Run.Calls)
		}
	}
	was.merged = round.Merged
}

// checkOrderOf: what the tools of a round asked for was applied as they were
// merged: those before each wait in call order, and then the others.
func (th *threadState) checkOrderOf(trail []string) {
	if th.turnSeq == 0 {
		return
	}
	var got []int
	calls := th.entries[th.turnSeq-1].Message.ToolCalls
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
	if th.asks.round.base == th.turnSeq+1 {
		want = slices.Clone(th.asks.round.merged)
	}
	for i := range calls {
		if !slices.Contains(want, i) {
			want = append(want, i)
		}
	}
	want = slices.DeleteFunc(want, func(i int) bool { return !slices.Contains(got, i) })
	if !slices.Equal(got, want) {
		th.fail("the calls of the turn at %d were applied in the order %v, they were merged as %v", th.turnSeq, got, want)
	}
}
