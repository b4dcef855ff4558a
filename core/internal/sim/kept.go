package sim

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// In a world with Cuts the store often refuses for a while the write that makes the end
// of a run final: the claim is released after RunEnd, and the next one ends the run with
// the changes of RunEnd.

// cuts chooses those worlds.
func (c *Config) cuts(kind, turn int) {
	switch kind {
	case 1, 8, 9, 15, 17, 21:
		c.Storage.Cuts = turn%2 == 0
	}
	c.Storage.Cuts = (c.Storage.Cuts || c.Processes.Restarts) && !c.People.Calm && !c.Processes.Local && !c.Processes.Unswept
}

// cutsFor is how often such a write is refused: more often than it is tried.
const cutsFor = 10

// cutsOff reports whether a write is one that makes the end of a run final after its
// RunEnd, and is refused.
func (ru *runs) cutsOff(b *thread.Head) bool {
	a := &ru.th.p.head
	if !ru.th.w.config.Storage.Cuts || a.Run.Status != thread.Closing || b.HolderCommitID != b.CommitID || b.Run.ID == a.Run.ID || a.Run.RunEnd != 0 {
		return false
	}
	in := ru.th.inputs.byText[ru.th.inputs.textOf(a.Run.Dispatch)]
	if in == nil || in.agent != agentEnding || trait(a.Run.ID.String(), 80, 2) != 0 || ru.cuts[a.Run.ID] == cutsFor {
		return false
	}
	ru.cuts[a.Run.ID]++
	return true
}

// checkKept looks at the changes of RunEnd: they are stored when its claim is released.
func (ru *runs) checkKept(a, b *thread.Head) {
	if b.Run.RunEnd == 0 || b.Run.RunEnd == a.Run.RunEnd {
		return
	}
	end, ok := ru.keptEnd(b)
	run := b.Run.ID
	switch {
	case b.Run.RunEnd != b.Version || !ok:
		ru.th.fail("the change of RunEnd of run %s is in force since version %d, and not stored", run, b.Run.RunEnd)
	case len(ru.seen[run]) == 0 || ru.hung[run]: // it has failed
	case len(end.Patch) == 0 && !ru.th.w.config.Storage.Tight:
		ru.th.fail("RunEnd of run %s has changed the state, and its kept record has no change", run)
	case end.Command == nil || !slices.ContainsFunc(end.Command.Effects, isFarewell):
		ru.th.fail("RunEnd of run %s has had an effect, and its kept record has none", run)
	}
}

// keptEnd reads the stored changes of the RunEnd of the open run.
func (ru *runs) keptEnd(h *thread.Head) (end thread.EndRecord, ok bool) {
	r, ok := ru.th.p.record(recordname.End(h.Run.ID, h.Run.RunEnd))
	if !ok {
		return end, false
	}
	return end, ru.th.w.checks.Decode("end", r.Payload, &end) == nil
}

// checkKeptEnd looks at the end of a run whose claim was released after RunEnd: it is of
// the time that RunEnd saw, and the changes of RunEnd are in the state.
func (ru *runs) checkKeptEnd(a *thread.Head, record *thread.RunRecord) {
	if a.Run.RunEnd == 0 {
		return
	}
	end, ok := ru.keptEnd(a)
	if !ok {
		ru.th.fail("the change of RunEnd of run %s is in force since version %d, and not stored", record.ID, a.Run.RunEnd)
		return
	}
	if record.FinishedAt != end.At || record.Skipped {
		ru.th.fail("run %s ended at %d, skipped %t, its RunEnd received %d", record.ID, record.FinishedAt, record.Skipped, end.At)
	}
	whole := record.Ending == nil || record.Ending.Form < thread.FormStateless
	if applied := ru.th.logged.folded.run == record.ID && ru.th.logged.folded.known[farewellName]; len(end.Patch) > 0 && whole && !applied {
		ru.th.fail("the state lacks the change of RunEnd of run %s", record.ID)
	}
	if len(end.Patch) > 0 && whole {
		ru.th.w.did(KeptRunEnd)
	}
}

// farewellName is what the hook of RunEnd leaves.
var farewellName = hookName(core.PhaseRunEnd, 0, nil)

// isFarewell reports whether an effect is that of RunEnd.
func isFarewell(e state.Effect) bool {
	return e.Key == mail.Name && string(e.Payload) == `"`+farewellName+`"`
}
