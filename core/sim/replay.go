package sim

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/store"
)

// Replay repeats recorded runs with the present agents: see its With. No model, tool or
// effect runs.
type Replay struct{ agents *registry.Registry }

// Repeated is the outcome of one run that was repeated.
type Repeated struct {
	Text    string // what is the same, differs or was not repeated, for people
	Skipped bool   // it was not repeated
	Differs bool
}

// With returns a replay with the agents of the parts. What is wrong with them is an error.
func (Replay) With(parts agent.Parts) (Replay, error) {
	agents, err := registry.New(parts)
	return Replay{agents}, err
}

// Thread repeats the runs of a thread in the order of its log, or one of them (only; zero:
// all). It writes nothing to the store. The error says that the thread cannot be read, with
// core.CodeNotFound if it, or the run, does not exist.
func (r Replay) Thread(ctx context.Context, from store.Backend, thread core.ThreadKey, only core.ID) ([]Repeated, error) {
	reports, err := replay.Options{Agents: r.agents}.Thread(ctx, from, thread, only)
	repeated := make([]Repeated, len(reports))
	for i, report := range reports {
		repeated[i] = Repeated{report.String(), report.Skipped != "", report.Skipped == "" && report.Difference != nil}
	}
	return repeated, err
}
