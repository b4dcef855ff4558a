package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
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

// IDOf returns a plugin's id. A nil plugin, an id that is no name, and a panic of ID
// are errors.
func IDOf(p Plugin) (id string, err error) {
	if p == nil {
		return "", errors.New("plugin is nil")
	}
	err = env.Protect(func() error {
		id = p.ID()
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("id of a plugin of type %T: %w", p, err)
	}
	return id, core.CheckName("plugin id", id)
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

// Gate decides about a tool call whose arguments are valid, before it runs, and
// again when a decision lets the call go on. What its verdict's Command asks for
// counts once, with the call's result. It must not act on the world but through
// effects. An error ends the run.
type Gate func(ctx context.Context, c GateCall) (Verdict, error)

// Transform changes the request that the model is about to be asked, when everything
// else has been put into it. Transforms run in the order of their registration, each
// on what those before it made; they are asked for every inference, a retry and a
// continuation included, and must make the same of the same. The request's slices
// are shared: a transform replaces them and never writes into them. An error ends the
// run.
type Transform func(ctx context.Context, c BeforeInference, request *model.Request) error

// ActionHandler runs an action at the phase for which it was scheduled. An
// error is recorded under [FailedScheduledActions] and logged; the action is not
// retried, and the run goes on.
type ActionHandler func(ctx context.Context, c HandlerContext, payload json.RawMessage) (state.Command, error)

// EffectHandler acts on the world after the commit, at most once. An error is
// logged; nothing is rolled back.
type EffectHandler func(ctx context.Context, c HandlerContext, payload json.RawMessage) error
