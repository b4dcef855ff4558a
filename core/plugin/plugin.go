package plugin

import (
	"context"

	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/state"
)

// Plugin registers what it adds to an agent. Register is called once for every agent that
// names the plugin, and is safe for concurrent use.
type Plugin interface {
	// ID names the plugin in agent specs; see [core.CheckName].
	ID() string
	// Register makes all declarations in this call; r must not be kept, and later calls of it have
	// no effect. The values that it reads of the agent's sections (see [Section]) hold for
	// this agent alone.
	Register(r *Registrar) error
}

// Delegate is an agent that another one may run: one of the delegates of its spec.
type Delegate = registered.Delegate

// Implied is a [Plugin] that agents also have without naming it in their spec, such as the
// plugin that runs delegates. A program may register it although no agent has it.
type Implied interface {
	Plugin
	// Implied reports whether an agent has the plugin, given the delegates of its spec.
	Implied(delegates []Delegate) bool
}

// Hook runs at a phase and returns a command. C is the phase's context. It may run twice,
// when another hook changed the same exclusive key: it must not change anything outside
// except through effects. An error ends the run.
//
// Two rules hold for hooks, gates, transforms and handlers alike. Their arguments, turns
// and results included, are shared with the run and must not be changed. And they must
// return soon after ctx has ended: the step waits for them, and so does every caller that
// waits for the run; only a tool can be abandoned.
type Hook[C any] func(ctx context.Context, c C) (state.Command, error)
