// Package engine runs what the plugins of one agent registered.
//
// Package run tells an [Engine] of each point of a run by a [Moment]. A phase has two
// halves, which package plugin describes: its hooks run side by side on one frozen
// snapshot, and the actions that are due run in rounds. The outcome is a [PhaseResult]: the
// patch to store, and the effects to run once it is stored. Gates are asked one after the
// other, the engine's own first: it asks a person the Approval of a tool.
//
// The engine has state keys, actions and a gate of its own, whose names begin with
// "reveille.". [Engine.Adjustments] reads what the built-in actions ask of a request.
package engine
