// Package state is the typed, versioned state of threads, runs and tool calls.
//
// A [Key] names a value of type V that changes by updates of type U. Hooks and
// tools read a [Snapshot], which never changes, and return a [Command]; the
// engine commits it. Nothing outside this package needs a cast.
//
//	var Visits = state.Counter("visits", state.ScopeThread)
//
//	n, err := Visits.Read(snapshot)
//	command := Visits.Update(1)
//
// # Keys
//
// A key is a package variable, registered by the plugin that owns it. Most are made by
// one line; a key of your own says by its Apply what an update does.
//
//	Counter("n", scope)           a sum; an update is added
//	Value[T]("v", scope)          a T; an update replaces it
//	List[E]("l", scope)           a list; an update is appended
//	Map[V]("m", scope)            an object; Put and Delete change its members
//	Document[V]("d", scope)       a document; edits at paths change it: see [Path]
//	lattice.Key[T]("s", scope)    a set, register or counter that merges: package lattice
//	Key[V, U]{Name, Apply, ...}   any other
//
// Its [Scope] says how long the value lives: as long as the thread, until the run ends,
// or for one tool call, until its step ends. Three fields say more:
//
//   - Commutative: hooks of a phase run side by side, on one snapshot. When two of them change
//     a key without it, the later one runs again, on what the earlier one has made of
//     it. Updates of a commutative key are applied one after the other as they are, in
//     the order in which the hooks are registered; nobody runs twice.
//   - Transient: the value is not stored, and lasts until the next commit of the step.
//   - Retain: [Registry.Uninstall] leaves the value.
//
// [Set] makes any value the key's, and Clear removes it; neither goes with another change
// of the key.
//
// # Commits
//
// A [Batch] holds the mutations of a command. [Registry.Commit] applies all of it or
// nothing, and raises the snapshot's revision by one when something that is stored has
// changed: a revision names one state. A batch may say for which revision it was made
// ([Batch.On]); made for another, it is an error of code conflict. [Registry.Merge] puts
// batches together that were made side by side, or names the key over which they collide.
// [Registry.Listen] is told of every commit.
//
// # Patches and folds
//
// A commit comes to a [Patch], which is what the log keeps: values, not the
// updates that led to them. A [Fold] makes a snapshot of patches again, without
// the keys and their Apply: state outlives the code that wrote it. The values of a plugin
// that is gone stay, and are there when it comes back; a value whose Go type has changed
// is an error for whoever reads it, and for nobody else.
//
// [Snapshot.Diff] returns the patch from one state to another, [Patch.Inverse] the way
// back, [Patch.Join] one patch for several. [Patch.Conflict] tells whether two patches can
// be folded in either order.
//
// [Snapshot.Export] and [Registry.Import] carry the values of one scope out of a thread
// and into another one.
//
// # Shared values
//
// What [Key.Read] returns is decoded once and shared by all who read it: what its maps and
// pointers lead to, and its elements, must not be changed. An update changes a value.
//
// What outlives a thread, or is shared between threads and agents, is a profile:
// see [ProfileKey]. It is read and written at once, and is no part of a snapshot
// or a commit.
package state
