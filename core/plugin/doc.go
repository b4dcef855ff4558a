// Package plugin lets code take part in a run without the loop knowing it.
//
// # A plugin
//
// A [Plugin] has an id, which agents name in their spec, and registers what it adds:
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
// Register is called for each agent that names the plugin, when the host is made:
// whatever is wrong with it is an error at start. It is called again for an
// agent as it was when a run began that is still under way. A [Section] of the
// agent's spec, read there, gives the plugin other settings for each agent. The
// active_hook_filter of a spec may leave a plugin's hooks, gates, transforms and tools
// out; its keys and handlers hold all the same, so that neither state nor scheduled work
// is lost.
//
// # Hooks
//
// A [Hook] runs at one [core.Phase] and is shown what that phase has:
//
//	RunStart        once, before the first step
//	StepStart       in each step, when the model's input is known
//	BeforeInference the last that can change what the model is asked
//	AfterInference  with the turn, before it is stored
//	BeforeTool      for each call that the gates let through
//	AfterTool       for each call with its result
//	StepEnd         with all results among the messages
//	RunEnd          once, however the run ends
//
// It returns a state.Command: changes of the state, actions and effects. It acts on
// nothing itself, since it may run again: after a crash, or because another hook has
// changed the same key. Its [Context] is a value with everything that it may depend on,
// clock ([Context].Now) and ids ([Context.NewID]) included, so that it comes to the same
// when it runs again, in another process or in a replay.
//
// # A phase
//
// A phase has two halves. Gather: all hooks run side by side on one frozen snapshot, and
// their commands are committed in the order of registration. A hook whose command
// collides with an earlier one, or was for a revision that an earlier one has ended
// (state.Batch.On), runs again behind the others, on what there is then. Execute: the
// actions that are due run in rounds, since an action may schedule others for the same
// phase; more than 16 rounds are an error.
//
// The outcome of a phase is a patch of the state, which leads to the same state again
// without the plugins' code, and the effects to run once it is stored. An error or a panic
// of a hook ends the run, and nothing of the phase counts.
//
// # Gates
//
// A gate ([Registrar.Gate]) decides about a call whose arguments are valid, before
// BeforeTool: [Allow], [SetResult], [Suspend] or [Block], of which a later one outranks an
// earlier one. Gates are asked one after the other, each on what those before it changed.
// What they changed counts with the call's result. The first gate of a call is the runtime's own, which asks
// a person the Approval of the tool's spec; no plugin answers that question.
//
// # Actions
//
// An [Action] is work for a phase of the same run, now or in a later step: it is stored
// with the state until its phase comes. One that fails is kept in the state, under
// reveille.failed_actions, and logged, and the run goes on. Four belong to every agent
// and change the model's next request: [AddContextMessage], [SetInferenceOverride],
// [ExcludeTool] and [IncludeOnlyTools].
//
// # Transforms
//
// A transform ([Registrar.Transform]) changes the request itself, after everything else.
//
// # Effects
//
// An [Effect] happens in the world, behind the commit of what it was asked for with: at
// most once, since a crash may come in between. One that fails is logged and counted, and
// what was committed stands.
//
// Names that begin with "reveille." are the runtime's.
package plugin
