package sim

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/store"
)

// Replay repeats recorded runs with the current agents: see [Replay.With]. No model, tool
// or effect runs.
type Replay struct{ agents *registry.Registry }

// Repeated is the outcome of the replay of one run.
type Repeated struct {
	Text    string // what is the same, differs or was not replayed, to be read by people
	Skipped bool   // the run was not replayed
	Differs bool
}

// With returns a replay with the agents of the parts. It returns an error if the parts are
// invalid.
func (Replay) With(parts agent.Parts) (Replay, error) {
	agents, err := registry.New(parts)
	return Replay{agents}, err
}

// Thread replays the runs of a thread in the order of its log. If only is not zero, it
// replays that run alone. It writes nothing to the store. It returns an error if it cannot
// read the thread, with core.CodeNotFound if the thread or the run does not exist.
func (r Replay) Thread(ctx context.Context, from store.Backend, thread core.ThreadKey, only core.ID) ([]Repeated, error) {
	reports, err := replay.Options{Agents: r.agents}.Thread(ctx, from, thread, only)
	repeated := make([]Repeated, len(reports))
	for i, report := range reports {
		repeated[i] = Repeated{report.String(), report.Skipped != "", report.Skipped == "" && report.Difference != nil}
	}
	return repeated, err
}
