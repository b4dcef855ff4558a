// Package state is the typed, versioned state of threads, runs and tool calls.
//
// A [Key] names a value of type V that changes by updates of type U. Hooks and tools read a
// [Snapshot], which never changes, and return a [Command]. The engine commits the command.
// Code outside of this package needs no type assertion.
//
//	var Visits = state.Counter("visits", state.ScopeThread)
//
//	n, err := Visits.Read(snapshot)
//	command := Visits.Update(1)
//
// # Keys
//
// A key is a package variable, registered by the plugin that owns it. One line makes most
// keys. For any other key, write a function Apply that returns the value after an update.
//
//	Counter("n", scope)           a sum; an update is added
//	Value[T]("v", scope)          a T; an update replaces it
//	List[E]("l", scope)           a list; an update is appended
//	Map[V]("m", scope)            an object; Put and Delete change its members
//	Document[V]("d", scope)       a document; edits at paths change it: see [Path]
//	lattice.Key[T]("s", scope)    a set, register or counter that merges: package lattice
//	Key[V, U]{Name, Apply, ...}   any other
//
// The [Scope] is the lifetime of the value: the thread, the run, or one tool call until the
// end of its step. Three fields change the behavior:
//
//   - Commutative: hooks of a phase run concurrently on one snapshot. If two of them change an
//     ordinary key, the later one runs again on the result of the earlier one. Updates of a
//     commutative key are applied in the order of registration, and no hook runs twice.
//   - Transient: the value is not stored and lasts until the next commit of the step.
//   - Retain: [Registry.Uninstall] keeps the value.
//
// [Set] replaces the value of any key, and Clear removes it. Neither can be combined with
// another change of the same key.
//
// # Commits
//
// A [Batch] holds the mutations of a command. [Registry.Commit] applies all of them or none.
// If a stored value changed, it also increments the snapshot's revision, so one revision
// names one state. A batch can name the revision that it was made for ([Batch.On]). On any
// other revision, Commit returns an error with the code conflict. [Registry.Merge] joins
// batches that were made concurrently, or returns an error that names the conflicting key.
// [Registry.Listen] returns a registry that calls a function after every commit.
//
// # Patches and folds
//
// A commit produces a [Patch], which the log stores: the new values, not the updates. A
// [Fold] makes a snapshot from patches without the keys and their Apply, so the state
// outlives the code that wrote it. If a plugin is removed, its values stay, and it finds them
// when it is added again. If the Go type of a value has changed, only reads of that key return
// an error.
//
// [Snapshot.Diff] returns the patch from one state to another, [Patch.Inverse] the way back,
// and [Patch.Join] one patch for several. [Patch.Conflict] returns an error if two patches
// cannot be folded in either order.
//
// [Snapshot.Export] and [Registry.Import] copy the values of one scope from one thread to
// another.
//
// # Shared values
//
// [Key.Read] decodes a value once and returns it to all readers. Do not change its elements,
// or the targets of its maps and pointers. Return an update instead.
//
// A profile is a value that outlives a thread, or that several threads or agents share: see
// [ProfileKey]. Code reads and writes it immediately. A profile is not part of a snapshot or
// a commit.
package state
