// Package plugin lets code take part in a run without the loop knowing it.
//
// A [Plugin] registers state keys, hooks at a [core.Phase], gates that may
// give a call its result, tools, and handlers of actions and effects. A hook sees what its
// phase has, such as [BeforeTool], and returns a state.Command. The [Engine] runs
// what the plugins of one agent registered. A [Section] of the agent's spec
// configures a plugin for that agent.
//
// A phase has two halves. Gather: all hooks run concurrently on one frozen
// snapshot, and their commands are committed together in registration order;
// hooks that touched the same exclusive key run again, one after the other.
// Execute: the actions scheduled for the phase run in rounds until none is
// left. What a phase came to is a [PhaseResult]: the patch to store, which leads
// to the same state again without the plugins' code, and the effects to run once
// it is stored.
package plugin
