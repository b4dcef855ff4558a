package run

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// hooks calls the code of an agent's plugins, for one step. It changes nothing: a
// caller chooses what hooks see, and merges their outcome.
//
// An error of a hook ends the run, since the hook would fail again; unless the
// context is over, which is not the hook's fault: then the error is the context's
// cause. A hook that fails while the context ends may have failed for another
// reason; the next claim calls it again and sees.
type hooks struct {
	engine *engine.Engine // nil: the agent is not known, and no plugin listens
	env    *env.Env
	log    *logger
	failed *atomic.Int64 // effects that have failed in this process
	acts   bool          // effects run; false in a replay, where they have happened, and without an engine

	// Values that every hook of the run may read at any time: see [plugin.Context].
	thread   core.ThreadKey
	user     string
	run      core.ID
	request  json.RawMessage
	profiles state.Profiles
}

// view is the run as hooks are shown it at one moment. Snapshot and messages are never
// changed, so that hooks may run concurrently and keep what they were shown.
type view struct {
	snapshot state.Snapshot
	messages []core.Message
	usage    core.Usage // of the run so far
	step     int
	at       int64 // the clock that they are shown, unix milliseconds
}

// listens reports whether a plugin has a hook of a phase.
func (h *hooks) listens(phase core.Phase) bool { return h.engine != nil && h.engine.Listens(phase) }

// gated reports whether a plugin sees calls before their tools run.
func (h *hooks) gated() bool {
	return h.engine != nil && (h.engine.Gates() || h.engine.Listens(core.PhaseBeforeToolExecute))
}

// fill says in a moment what every hook may read.
func (h *hooks) fill(m *engine.Moment, phase core.Phase, v *view) {
	m.Thread, m.User, m.Run, m.Request, m.Profiles = h.thread, h.user, h.run, h.request, h.profiles
	m.Phase, m.Step, m.Snapshot, m.Messages, m.Usage, m.Now = phase, v.step, v.snapshot, v.messages, v.usage, clock(v.at)
}

// phase runs the hooks of a phase.
func (h *hooks) phase(ctx context.Context, phase core.Phase, v view, m engine.Moment) (engine.PhaseResult, error) {
	h.fill(&m, phase, &v)
	result, err := h.engine.Phase(ctx, h.env, m)
	if err != nil {
		return result, hookError(ctx, "phase "+string(phase), m.Call, err)
	}
	return result, nil
}

// gate asks the gates about a call. The result has their command, applied to the snapshot
// that they were shown.
func (h *hooks) gate(ctx context.Context, v view, m engine.Moment) (plugin.Verdict, engine.PhaseResult, error) {
	h.fill(&m, "", &v)
	verdict, err := h.engine.Gate(ctx, m)
	if err != nil {
		return verdict, engine.PhaseResult{}, hookError(ctx, "gate", m.Call, err)
	}
	after, err := h.engine.Submit(v.snapshot, m.CallIndex, verdict.Command)
	if err != nil { // cannot be: the engine has applied it to this very snapshot
		return verdict, after, hookError(ctx, "gate", m.Call, err)
	}
	return verdict, after, nil
}

// refused returns what counts with the refusal of a call, as its gates say.
func (h *hooks) refused(ctx context.Context, v view, m engine.Moment) (state.Command, error) {
	h.fill(&m, "", &v)
	command, err := h.engine.Refused(ctx, m)
	if err != nil {
		return state.Command{}, hookError(ctx, "refusal", m.Call, err)
	}
	return command, nil
}

// act runs effects after a write. They may take as long as the process of the claim's holder
// has, and at least effectTime: neither a lost claim nor a cancel ends their context, since the commit
// remains, and no other process acts on it. Failures are logged, one line each, and
// counted; nothing else depends on them, for the same reason.
func (h *hooks) act(ctx context.Context, claim *holder, v view, m engine.Moment, effects []state.Effect) {
	if len(effects) == 0 || !h.acts {
		return
	}
	free, cancel := claim.acting(ctx)
	defer cancel()
	h.fill(&m, "", &v)
	for _, err := range h.engine.RunEffects(free, m, effects) {
		h.failed.Add(1)
		h.log.complain(free, "effect failed, its commit remains", failure(err)...)
	}
}

// hookError is the error of a hook or gate, of a call if there is one.
func hookError(ctx context.Context, where string, call *core.ToolCall, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if call != nil {
		where += " of call " + call.ID
	}
	return endAt("plugin", where, err)
}
