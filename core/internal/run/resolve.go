package run

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
)

// resolve finds the agent that the run is pinned to: the one that it started with.
// A run that starts is pinned by its first commit. After a failure of the store, or
// if only a newer program can read the content, another attempt follows. A part
// that this build lacks is left for another build, for a time. After that time an
// agent that is gone ends the run, and one of which tools are gone continues
// without them.
func (b *base) resolve(ctx context.Context, h *holder) error {
	found, err := h.s.agents.Resolve(ctx, b.record.AgentID, b.record.Resolution)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, pins.ErrStore), core.CodeOf(err) == core.CodeSchema:
			return err
		}
		end := endWith("resolution", err)
		if core.CodeOf(err) == core.CodeNotFound && h.leaves() {
			return &lacking{end}
		}
		return end
	}
	if len(found.Gone) > 0 {
		if err := h.goWithout(core.Errorf(core.CodeNotFound, "this build has no tool %q of agent %q", found.Gone[0], b.record.AgentID)); err != nil {
			return err
		}
	}
	// The tools of the frontend are the agent's for this run alone: what is resolved is shared.
	b.agent, b.model = found.WithFrontend(b.record.Frontend), found.ModelOf(h.Key, h.id)
	if b.record.Resolution == "" {
		if b.recorded { // the cache may have it
			record := *b.record
			b.record = &record
		}
		b.record.Resolution = found.Hash() // stored by the first commit, if it is this step's
	}
	b.hooks = hooks{
		engine: b.agent.Engine, env: h.env, log: &h.log, failed: &h.s.failedEffects, acts: h.s.choices.Acts(),
		thread: h.Key, user: h.head.Owner, run: h.id, request: b.record.Request, profiles: h.profiles,
	}
	return nil
}
