package plugin

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
)

// The actions that every agent has. They change the model's next request and nothing
// else: a hook of the phases before the inference schedules them for this step, one
// behind it, or a tool, for the next. What they ask for is kept under keys of the
// runtime, which [Engine.Adjustments] reads.
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

// Target says where in the request a context message stands.
type Target string

// The targets, in the order in which the model reads them.
const (
	TargetSystem       Target = "system"        // behind the agent's system prompt, as a part of it; the default
	TargetSession      Target = "session"       // before the conversation
	TargetConversation Target = "conversation"  // before the conversation too, behind those of the session
	TargetSuffix       Target = "suffix_system" // behind the newest message of the conversation
)

var targets = []Target{TargetSystem, TargetSession, TargetConversation, TargetSuffix}

// ContextMessage is a text that the model reads beside the conversation, and that no
// thread stores.
type ContextMessage struct {
	Key      string    `json:"key"`  // names the message: a later one of the key takes its place
	Text     string    `json:"text"` // empty: the message of the key is taken away
	Target   Target    `json:"target,omitempty"`
	Role     core.Role `json:"role,omitempty"`     // core.RoleSystem (the default) or core.RoleUser; of TargetSystem always the former
	Priority int       `json:"priority,omitempty"` // of a target's messages the lower one comes first, then by key
	// Persistent keeps the message in the requests of the run's later steps as well;
	// else it is in this step's alone, and stands behind the newest message, whatever its
	// target: else what providers keep of the request's beginning would be lost each time.
	Persistent bool `json:"persistent,omitempty"`
	// CooldownTurns is how many steps must go by until a message of the key is shown
	// again, unless its text has changed; 0: none.
	CooldownTurns int `json:"cooldown_turns,omitempty"`
}

// check returns an error that names what is wrong with the message.
func (m ContextMessage) check() error {
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

// SharedState is the state that a thread shares with the frontends in front of it, an
// object. A run begins by setting the members that its frontend sent; hooks and tools read and edit it as
// any document, and the frontend is shown each change. No other state can be changed by
// a frontend.
var SharedState = state.Document[map[string]any]("shared_state", state.ScopeThread)

// lastShown says when a throttled message was shown last.
type lastShown struct {
	Step int    `json:"step"`
	Hash uint64 `json:"hash"` // of its text
}

// The runtime's keys. What holds for one step is transient: it is there when the
// request is made, and in no record.
var (
	pinnedMessages = state.Map[ContextMessage]("reveille.context_messages", state.ScopeRun)
	stepMessages   = func() state.MapKey[ContextMessage] {
		k := state.Map[ContextMessage]("reveille.step_messages", state.ScopeRun)
		k.Transient = true
		return k
	}()
	throttle = state.Map[lastShown]("reveille.context_throttle", state.ScopeRun)
	override = state.Key[model.Override, model.Override]{
		Name: "reveille.inference_override", Scope: state.ScopeRun, Commutative: true, Transient: true,
		Apply: model.Override.Merge,
	}
	excludedTools = state.Key[[]string, string]{
		Name: "reveille.excluded_tools", Scope: state.ScopeRun, Commutative: true, Transient: true,
		Apply: func(names []string, name string) []string { return append(names, name) },
	}
	includedTools = state.Key[[]string, []string]{
		Name: "reveille.included_tools", Scope: state.ScopeRun, Commutative: true, Transient: true,
		Apply: func(names, more []string) []string { return append(append([]string{}, names...), more...) },
	}
)

// registerBuiltin gives an engine what belongs to the runtime.
func registerBuiltin(r *Registrar) {
	for _, k := range []interface{ Definition() state.Definition }{
		SharedState, pendingActions, FailedScheduledActions, pinnedMessages, stepMessages, throttle, override, excludedTools, includedTools,
		runApprovals, threadApprovals,
	} {
		r.Key(k)
	}
	AddContextMessage.Handle(r, addContextMessage)
	SetInferenceOverride.Handle(r, func(_ context.Context, _ HandlerContext, o model.Override) (state.Command, error) {
		return override.Update(o), o.Check()
	})
	ExcludeTool.Handle(r, func(_ context.Context, _ HandlerContext, name string) (state.Command, error) {
		return excludedTools.Update(name), nil
	})
	IncludeOnlyTools.Handle(r, func(_ context.Context, _ HandlerContext, names []string) (state.Command, error) {
		return includedTools.Update(names), nil
	})
}

// addContextMessage puts a message where the request is made from, unless it was shown
// a short while ago.
func addContextMessage(_ context.Context, c HandlerContext, m ContextMessage) (state.Command, error) {
	if err := m.check(); err != nil {
		return state.Command{}, err
	}
	if m.Text == "" {
		return state.Combine(pinnedMessages.Delete(m.Key), stepMessages.Delete(m.Key)), nil
	}
	messages := stepMessages
	if m.Persistent {
		messages = pinnedMessages
	}
	command := messages.Put(m.Key, m)
	if m.Persistent && stepMessages.Has(c.Snapshot) { // one of this step must not hide the later one
		command.Append(stepMessages.Delete(m.Key))
	}
	if m.CooldownTurns == 0 {
		return command, nil
	}
	last, ok, err := throttle.Member(c.Snapshot, m.Key)
	if err != nil {
		return state.Command{}, err
	}
	now := lastShown{Step: c.Step, Hash: hash(m.Text)}
	if ok && last.Hash == now.Hash && now.Step-last.Step < m.CooldownTurns {
		return state.Command{}, nil
	}
	return state.Combine(command, throttle.Put(m.Key, now)), nil
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64() >> 11 // fits a JSON number that every reader keeps
}

// Adjustments is what the plugins of an agent ask of a step's request.
type Adjustments struct {
	Messages []ContextMessage // by target, priority and key
	Override model.Override

	excluded []string
	included []string // nil: all
}

// Offers reports whether a tool is shown to the model.
func (a *Adjustments) Offers(name string) bool {
	return (a.included == nil || slices.Contains(a.included, name)) && !slices.Contains(a.excluded, name)
}

// Filters reports whether any tool may be hidden.
func (a *Adjustments) Filters() bool { return a.included != nil || len(a.excluded) > 0 }

// Adjustments reads what the built-in actions have asked for. A value that does not
// decode is an error that names its key.
func (e *Engine) Adjustments(s state.Snapshot) (a Adjustments, err error) {
	if a.Override, err = override.Read(s); err != nil {
		return a, err
	}
	if a.excluded, err = excludedTools.Read(s); err != nil {
		return a, err
	}
	if a.included, err = includedTools.Read(s); err != nil {
		return a, err
	}
	for _, key := range []state.MapKey[ContextMessage]{pinnedMessages, stepMessages} {
		messages, err := key.Read(s)
		if err != nil {
			return a, err
		}
		for name, m := range messages {
			if i := slices.IndexFunc(a.Messages, func(n ContextMessage) bool { return n.Key == name }); i >= 0 {
				a.Messages[i] = m // this step's takes the place of the run's
			} else {
				a.Messages = append(a.Messages, m)
			}
		}
	}
	slices.SortFunc(a.Messages, func(m, n ContextMessage) int {
		return cmp.Or(cmp.Compare(m.place(), n.place()), cmp.Compare(m.Priority, n.Priority), cmp.Compare(m.Key, n.Key))
	})
	return a, nil
}

// place is the index of the message's target.
func (m ContextMessage) place() int { return max(0, slices.Index(targets, m.Target)) }

// Transforms reports whether there are any request transforms.
func (e *Engine) Transforms() bool { return len(e.transforms) > 0 }

// Transform runs the request transforms in order. An error or a panic names its
// plugin.
func (e *Engine) Transform(ctx context.Context, m Moment, request *model.Request) error {
	e.bind(&m)
	for _, t := range e.transforms {
		if err := env.Protect(func() error { return t.run(ctx, BeforeInference{m.shown(t.plugin)}, request) }); err != nil {
			return fmt.Errorf("transform of plugin %q: %w", t.plugin, err)
		}
	}
	return nil
}
