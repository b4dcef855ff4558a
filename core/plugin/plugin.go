package plugin

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Plugin registers what it adds to an agent. It is asked once for every agent
// that names it, and is safe for concurrent use.
type Plugin interface {
	// ID names the plugin in agent specs; see [core.CheckName].
	ID() string
	// Register declares everything at once; r must not be kept.
	Register(r *Registrar) error
}

// Context is what a hook, gate or handler sees. It must not be changed; its
// pointers and slices are shared. Where Call is set, the engine binds Snapshot
// to it, so that keys of [state.ScopeCall] are that call's.
type Context struct {
	Phase    core.Phase // empty for gates and effects
	Thread   core.ThreadKey
	Run      core.ID
	AgentID  string
	Step     int            // from 1; 0 before the first
	Snapshot state.Snapshot // for effects: after the commit
	Messages []core.Message // the thread's, oldest first

	Turn        *core.Message     // the model's turn, from AfterInference on
	Call        *core.ToolCall    // gates, BeforeToolExecute, AfterToolExecute, effects of a call
	CallIndex   int               // of Call in Turn, from 0
	Resume      *core.Resume      // gates and BeforeToolExecute of a call that goes on after a decision
	Granted     []string          // gates of such a call: the ids of all its suspensions that were decided to resume
	Result      *core.ToolResult  // AfterToolExecute
	Termination *core.Termination // RunEnd
}

// bind returns the context with its snapshot bound to its call, if it has one.
func (c Context) bind() Context {
	if c.Call != nil {
		c.Snapshot = c.Snapshot.ForCall(c.CallIndex)
	}
	return c
}

// Hook runs at a phase and returns what is to change. It may run twice, when
// another hook changed the same exclusive key: it must not act on the world
// but through effects. An error ends the run.
type Hook func(ctx context.Context, c Context) (state.Command, error)

// ActionHandler runs an action at the phase for which it was scheduled. An
// error is recorded under [FailedScheduledActions]; the action is not retried.
type ActionHandler func(ctx context.Context, c Context, payload json.RawMessage) (state.Command, error)

// EffectHandler acts on the world after the commit, at most once. An error is
// logged; nothing is rolled back.
type EffectHandler func(ctx context.Context, c Context, payload json.RawMessage) error

// Gate decides about a tool call whose arguments are valid, before it runs, and
// again when a decision lets the call go on. What its verdict's Command asks for
// counts once, with the call's result. It must not act on the world but through
// effects. An error ends the run.
type Gate func(ctx context.Context, c Context) (Verdict, error)

// VerdictKind is what a gate decides. A later kind outranks an earlier one.
type VerdictKind uint8

// The verdicts.
const (
	VerdictAllow     VerdictKind = iota // nothing to object
	VerdictSetResult                    // Result is the call's; the tool does not run
	VerdictSuspend                      // the call waits for a decision on Suspend
	VerdictBlock                        // the run ends, blocked for Reason
)

// Verdict is what a gate returns. A suspension without an id gets one that is
// the same each time the call is asked about; when that suspension was decided
// to resume, now or earlier in the call's life, its verdict counts as VerdictAllow.
type Verdict struct {
	Kind    VerdictKind
	Reason  string              // VerdictBlock: for people
	Result  *core.ToolResult    // VerdictSetResult
	Suspend *core.TicketRequest // VerdictSuspend
	Command state.Command       // with whatever verdict; counts with the call's result
}
