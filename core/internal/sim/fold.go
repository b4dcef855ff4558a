package sim

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// folded is the state of a thread, from the patches of its log.
type folded struct {
	fold    *state.Fold
	run     core.ID
	earlier int             // commands of earlier runs
	due     []string        // what the trail must have at the next step record
	known   map[string]bool // its earlier members
	// committed are the commands that were applied, with their run.
	committed map[string]bool
	revision  uint64
	count     int
}

// foldPatch folds a committed record and looks at the state.
func (lo *logged) foldPatch(e thread.Entry) {
	f := &lo.folded
	if e.Run != f.run {
		f.earlier += len(f.known)
		f.run, f.known, f.due = e.Run, map[string]bool{}, nil
		f.fold.BeginRun()
	}
	turn := e.Message != nil && e.Message.Role == core.RoleAssistant
	if turn = turn || e.Failed != nil; turn {
		f.fold.BeginStep()
	}
	if e.Message != nil && e.Message.Role == core.RoleTool {
		lo.expectResult(e)
	}
	if len(e.Patch) == 0 && e.Revision == 0 {
		return
	}
	if err := f.fold.Apply(e.Patch, e.Revision); err != nil {
		lo.th.fail("the log's patches do not fold: %v", err)
		return
	}
	s := f.fold.Snapshot()
	names, err := trailKey.Read(s)
	count, failed := countKey.Read(s)
	if err != nil || failed != nil {
		lo.th.fail("the folded state is unreadable: %v %v", err, failed)
		return
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			lo.th.fail("the command of %s was applied twice in run %s", name, e.Run)
		}
		seen[name] = true
		if !f.known[name] {
			f.committed[e.Run.String()+" "+name] = true
		}
	}
	for name := range f.known {
		if !seen[name] {
			lo.th.fail("the command of %s of run %s is missing in the state", name, e.Run)
		}
	}
	if e.Superseded != nil {
		f.earlier = count
	}
	f.revision, f.count = f.fold.Revision(), count
	if f.known = seen; count != f.earlier+len(seen) {
		lo.th.fail("the state counts %d commands of the thread, %d were applied", count, f.earlier+len(seen))
	}
	if !turn {
		for _, name := range f.due {
			if !seen[name] {
				lo.th.fail("the command of %s of run %s was never applied", name, e.Run)
			}
		}
		f.due = nil
		lo.checkOrderOf(names)
	}
}

// expectResult notes what the step record must hold of a call.
func (lo *logged) expectResult(e thread.Entry) {
	turn := lo.entries[lo.turnSeq-1].Message
	if lo.call == 0 || lo.call > len(turn.ToolCalls) {
		return // already said
	}
	key := callKey(string(turn.ToolCalls[lo.call-1].Arguments))
	expect := func(c *state.Command, name string) {
		if c == nil {
			return
		}
		for _, m := range c.Batch.Mutations {
			if m.Key == trailKey.Name && strings.Contains(string(m.Update), name) {
				lo.folded.due = append(lo.folded.due, name)
			}
		}
	}
	expect(e.Hooks, hookName(core.PhaseBeforeToolExecute, 0, &turn.ToolCalls[lo.call-1]))
	expect(e.Intents, "tool."+key)
}

// checkSeen: a hook that runs before its step changes anything reads the
// committed state.
func (lo *logged) checkSeen(h *host, s state.Snapshot) {
	f := &lo.folded
	if !lo.th.runs.holds() {
		return // its claim is lost, and it does not know yet: to another process, or to its own
	}
	names, err := trailKey.Read(s)
	count, failed := countKey.Read(s)
	if err != nil || failed != nil || count != f.count || len(names) != len(f.known) || s.Revision() != f.revision {
		lo.th.fail("a hook reads %d commands of the run and %d of the thread at revision %d, the log has %d and %d at %d (%v %v)",
			len(names), count, s.Revision(), len(f.known), f.count, f.revision, err, failed)
	}
}
