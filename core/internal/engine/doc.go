// Package engine runs the code that the plugins of one agent registered.
//
// Package run calls an [Engine] with a [Moment] at each point of a run. A phase has two
// halves, which package plugin describes: its hooks run in parallel on one frozen snapshot,
// and the actions that are due run in rounds. The outcome is a [PhaseResult]: the patch to
// store, and the effects to run once it is stored. Gates run one after the other, the
// engine's own first: it asks a person for the Approval of a tool.
//
// The engine has additional state keys, actions and a gate, whose names begin with
// "reveille.". [Engine.Adjustments] reads the changes that the built-in actions make to a
// request.
package engine
