package engine

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// lastShown records when a throttled message was shown last.
type lastShown struct {
	Step int    `json:"step"`
	Hash uint64 `json:"hash"` // of its text
}

// The runtime's keys. A value for one step is transient: it exists when the request is
// made, and is in no record.
var (
	pinnedMessages = state.Map[plugin.ContextMessage]("reveille.context_messages", state.ScopeRun)
	stepMessages   = func() state.MapKey[plugin.ContextMessage] {
		k := state.Map[plugin.ContextMessage]("reveille.step_messages", state.ScopeRun)
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

// builtin is what belongs to the runtime, as a plugin.
type builtin struct{}

func (builtin) ID() string { return "runtime" }

func (builtin) Register(r *plugin.Registrar) error {
	for _, k := range []interface{ Definition() state.Definition }{
		plugin.SharedState, pendingActions, FailedScheduledActions, pinnedMessages, stepMessages, throttle, override, excludedTools, includedTools,
		runApprovals, threadApprovals,
	} {
		r.Key(k)
	}
	plugin.AddContextMessage.Handle(r, addContextMessage)
	plugin.SetInferenceOverride.Handle(r, func(_ context.Context, _ plugin.HandlerContext, o model.Override) (state.Command, error) {
		return override.Update(o), o.Check()
	})
	plugin.ExcludeTool.Handle(r, func(_ context.Context, _ plugin.HandlerContext, name string) (state.Command, error) {
		return excludedTools.Update(name), nil
	})
	plugin.IncludeOnlyTools.Handle(r, func(_ context.Context, _ plugin.HandlerContext, names []string) (state.Command, error) {
		return includedTools.Update(names), nil
	})
	return nil
}

// addContextMessage puts a message where the request is made from, unless it was shown
// a short while ago.
func addContextMessage(_ context.Context, c plugin.HandlerContext, m plugin.ContextMessage) (state.Command, error) {
	if err := m.Check(); err != nil {
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
	Messages []plugin.ContextMessage // by target, priority and key
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
	for _, key := range []state.MapKey[plugin.ContextMessage]{pinnedMessages, stepMessages} {
		messages, err := key.Read(s)
		if err != nil {
			return a, err
		}
		for name, m := range messages {
			if i := slices.IndexFunc(a.Messages, func(n plugin.ContextMessage) bool { return n.Key == name }); i >= 0 {
				a.Messages[i] = m // this step's takes the place of the run's
			} else {
				a.Messages = append(a.Messages, m)
			}
		}
	}
	slices.SortFunc(a.Messages, func(m, n plugin.ContextMessage) int {
		return cmp.Or(cmp.Compare(m.Place(), n.Place()), cmp.Compare(m.Priority, n.Priority), cmp.Compare(m.Key, n.Key))
	})
	return a, nil
}

// Transforms reports whether there are any request transforms.
func (e *Engine) Transforms() bool { return len(e.transforms) > 0 }

// Transform runs the request transforms in order. An error or a panic names its
// plugin.
func (e *Engine) Transform(ctx context.Context, m Moment, request *model.Request) error {
	e.bind(&m)
	for _, t := range e.transforms {
		if err := env.Protect(func() error { return t.run(ctx, plugin.BeforeInference{Context: m.shown(t.plugin)}, request) }); err != nil {
			return fmt.Errorf("transform of plugin %q: %w", t.plugin, err)
		}
	}
	return nil
}
