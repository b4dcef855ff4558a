package plugin

import (
	"context"

	"github.com/reveille-run/reveille/core/state"
)

// Plugin registers what it adds to an agent. It is asked once for every agent
// that names it, and is safe for concurrent use.
type Plugin interface {
	// ID names the plugin in agent specs; see [core.CheckName].
	ID() string
	// Register declares everything at once; r must not be kept, and what it is given
	// later counts for nothing. What it reads of the agent's sections (see [Section])
	// holds for this agent alone.
	Register(r *Registrar) error
}

// Hook runs at a phase and returns what is to change. C is the phase's context. It
// may run twice, when another hook changed the same exclusive key: it must not act
// on the world but through effects. An error ends the run.
//
// Two things hold for hooks, gates, transforms and handlers alike. What they are shown,
// turns and results included, is shared with the run and must not be changed. And they
// must come to an end soon after ctx has: the step waits for them, and whoever waits
// for the run does so too; only a tool is left behind.
type Hook[C any] func(ctx context.Context, c C) (state.Command, error)
