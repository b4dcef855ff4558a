// Package plugin lets code take part in runs without a change of the run loop.
//
// # A plugin
//
// A [Plugin] has an id, which agents name in their spec, and registers its parts:
//
//	func (visits) ID() string { return "visits" }
//
//	func (visits) Register(r *plugin.Registrar) error {
//		r.Key(count) // var count = state.Counter("visits", state.ScopeThread)
//		r.OnStepStart(func(ctx context.Context, c plugin.StepStart) (state.Command, error) {
//			return count.Update(1), nil
//		})
//		return nil
//	}
//
// The host calls Register for each agent that names the plugin, when the host is made. So a
// wrong registration is an error at start. The host calls it again for an earlier version of
// an agent if a run that is still open started with that version. Register can read a
// [Section] of the agent's spec, so that a plugin has different settings for each agent.
//
// If a spec has an active_hook_filter without the plugin's id, the plugin's hooks, gates,
// transforms and tools are off. Its keys and handlers stay, so that no state and no
// scheduled action is lost.
//
// # Hooks
//
// A [Hook] runs at one [core.Phase] and receives the data of that phase:
//
//	RunStart        once, before the first step
//	StepStart       in each step, when the model's input is known
//	BeforeInference the last phase that can change the model's request
//	AfterInference  with the turn, before it is stored
//	BeforeTool      for each call that the gates allowed
//	AfterTool       for each call with its result
//	StepEnd         with all results among the messages
//	RunEnd          once, for every kind of end
//
// A hook returns a state.Command: changes of the state, actions and effects. It makes no
// changes itself, since it can run again, after a crash or because another hook changed the
// same key. Its [Context] is a value with everything that it may depend on, including the
// clock ([Context].Now) and ids ([Context.NewID]). So a hook that runs again, in another
// process or in a replay, returns the same command.
//
// # A phase
//
// A phase has two parts, gather and execute. In the gather part all hooks run concurrently on
// one frozen snapshot, and their commands are committed in the order of registration. A
// command conflicts if an earlier command changed the same key, or ended the revision that it
// was made for (state.Batch.On). The hook of such a command runs again after the others, on
// the new snapshot. In the execute part due actions run in rounds, since an action can
// schedule others for the same phase. More than 16 rounds are an error.
//
// A phase produces a patch of the state and a list of effects. The patch leads to the same
// state again without the plugins' code. The effects run after the patch is stored. An error
// or a panic of a hook ends the run, and the changes of the phase are dropped.
//
// # Gates
//
// A gate ([Registrar.Gate]) decides about a call whose arguments are valid, before
// BeforeTool. Its verdict is [Allow], [SetResult], [Suspend] or [Block]; a later one in this
// list outranks an earlier one. Gates run one after the other, and each sees the changes of
// the gates before it. These changes are committed with the call's result. The runtime's own
// gate is the first of each call: it asks a person for the Approval of the tool's spec, and
// no plugin can answer that question.
//
// # Actions
//
// An [Action] is work for a phase of the same run, in this step or a later one. It is stored
// with the state until its phase. If an action fails, the run continues: the failure is
// logged and kept in the state under reveille.failed_actions. Four built-in actions change
// the model's next request, for every agent: [AddContextMessage], [SetInferenceOverride],
// [ExcludeTool] and [IncludeOnlyTools].
//
// # Transforms
//
// A transform ([Registrar.Transform]) changes the complete request, as the last step before
// the model is called.
//
// # Effects
//
// An [Effect] changes something outside of the runtime. It runs after the commit of its
// command, at most once: a crash between the two loses it. An effect that fails is logged and
// counted, and the commit is kept.
//
// Names that start with "reveille." are reserved for the runtime.
package plugin
