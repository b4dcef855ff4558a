package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// replay repeats every run from its record, despite any faults: the same code makes the
// same records. Where not all are repeated, those of forks are.
func (au *auditor) replay() {
	agents, err := registry.New(au.w.scripted.partsWith(nil))
	if err != nil {
		au.w.violate("resolve the agents for a replay: %v", err)
		return
	}
	o := replay.Options{Agents: agents, Records: au.w.checks}
	for _, p := range au.w.storage.partitions {
		if !p.head.Exists() || p.head.Deleted || !au.w.config.Replayed && p.state.fork == nil {
			continue
		}
		reports, err := o.Thread(context.Background(), p.stored(au.w), p.key, core.ID{})
		if err != nil {
			au.w.fail(p, "it cannot be replayed: %v", err)
		}
		for _, r := range reports {
			if !p.state.logged.checkInherited(&r) {
				continue
			}
			au.w.Stats.Replays.Replayed++
			hung := p.state.runs.hung[r.Run] // the duration of a hook is not part of a record
			// A run that continues another has no input, so it is not replayed.
			if p.state.runs.takenUp[r.Run] == nil && r.Skipped != "" || hung {
				au.w.Stats.Replays.Unreplayed++
			}
			if r.Difference != nil && !hung {
				au.w.fail(p, "a replay differs:\n%s", r)
			}
		}
	}
}

// stored returns the records of the thread, in a separate store.
func (p *partition) stored(w *World) store.Backend {
	c := store.Commit{Head: p.head}
	c.Head.Version = 1 // the store's first write
	for _, name := range slices.Sorted(maps.Keys(p.records)) {
		c.Records = append(c.Records, p.records[name])
	}
	for _, r := range p.log {
		if r.Name != "" {
			c.Records = append(c.Records, r)
		}
	}
	s := memory.New()
	if outcome, err := s.Commit(context.Background(), p.key, c); err != nil || !outcome.Written {
		w.fail(p, "copy the thread: %+v, %v", outcome, err)
	}
	return s
}
