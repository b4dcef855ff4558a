package plugin

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
)

// The actions that every agent has. They change the model's next request and nothing
// else: a hook of the phases before the inference schedules them for this step, one
// after it, or a tool, for the next.
var (
	// AddContextMessage adds a message to the request; see [ContextMessage].
	AddContextMessage = Action[ContextMessage]{Phase: core.PhaseBeforeInference, Name: "reveille.add_context_message"}
	// SetInferenceOverride changes the parameters of this step's inference; of two
	// overrides the later one counts, field by field.
	SetInferenceOverride = Action[model.Override]{Phase: core.PhaseBeforeInference, Name: "reveille.set_inference_override"}
	// ExcludeTool hides a tool, by its name, from the model in this step. It does not
	// forbid a call: a gate does.
	ExcludeTool = Action[string]{Phase: core.PhaseBeforeInference, Name: "reveille.exclude_tool"}
	// IncludeOnlyTools hides all tools but the named ones in this step. Several add up;
	// what ExcludeTool hides stays hidden.
	IncludeOnlyTools = Action[[]string]{Phase: core.PhaseBeforeInference, Name: "reveille.include_only_tools"}
)

// Target is the place of a context message in the request.
type Target string

// The targets, in the order in which the model reads them.
const (
	TargetSystem       Target = "system"        // after the agent's system prompt, as a part of it; the default
	TargetSession      Target = "session"       // before the conversation
	TargetConversation Target = "conversation"  // before the conversation too, after those of the session
	TargetSuffix       Target = "suffix_system" // after the newest message of the conversation
)

var targets = []Target{TargetSystem, TargetSession, TargetConversation, TargetSuffix}

// ContextMessage is a text that the model reads in addition to the conversation, and that
// no thread stores.
type ContextMessage struct {
	Key      string    `json:"key"`  // names the message: a later one of the key takes its place
	Text     string    `json:"text"` // empty: the message of the key is taken away
	Target   Target    `json:"target,omitempty"`
	Role     core.Role `json:"role,omitempty"`     // core.RoleSystem (the default) or core.RoleUser; of TargetSystem always the former
	Priority int       `json:"priority,omitempty"` // of a target's messages the lower one comes first, then by key
	// Persistent keeps the message in the requests of the run's later steps as well.
	// Otherwise it is in this step's request alone, after the newest message, for every
	// target: elsewhere it would void the prefix that providers cache.
	Persistent bool `json:"persistent,omitempty"`
	// CooldownTurns is the minimum number of steps until a message of the key is shown
	// again, unless its text has changed; 0: none.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
}

// Check returns an error that names what is wrong with the message.
func (m ContextMessage) Check() error {
	switch {
	case m.Key == "":
		return core.Errorf(core.CodeInvalid, "the context message has no key")
	case m.Target != "" && !slices.Contains(targets, m.Target):
		return core.Errorf(core.CodeInvalid, "context message %q has the target %q, allowed are %q", m.Key, m.Target, targets)
	case m.Role != "" && m.Role != core.RoleSystem && m.Role != core.RoleUser:
		return core.Errorf(core.CodeInvalid, "context message %q has the role %q, allowed are %q and %q", m.Key, m.Role, core.RoleSystem, core.RoleUser)
	case m.CooldownTurns < 0:
		return core.Errorf(core.CodeInvalid, "context message %q has a cooldown of %d steps, want 0 or more", m.Key, m.CooldownTurns)
	}
	return nil
}

// SharedState is the state that a thread shares with its frontends, an object. At its start
// a run sets the members that its frontend sent. Hooks and tools read and edit it as any
// document, and the frontend receives each change. A frontend can change no other state.
var SharedState = state.Document[map[string]any]("shared_state", state.ScopeThread)

// Place is the index of the message's target in the order in which the model reads them.
func (m ContextMessage) Place() int { return max(0, slices.Index(targets, m.Target)) }

// ForgetApprovals returns a command that withdraws all remembered answers to the Approval
// questions of tools, in the run and in the thread, for all its agents. A plugin or a tool
// returns it. Each later call of such a tool asks again.
func ForgetApprovals() state.Command {
	return state.Combine(
		state.Map[struct{}](registered.RunApprovals, state.ScopeRun).Clear(),
		state.Map[struct{}](registered.ThreadApprovals, state.ScopeThread).Clear(),
	)
}
