// Package state is the typed, versioned state of threads, runs and tool calls.
//
// A [Key] names a value of type V that changes by updates of type U. Hooks and
// tools read a [Snapshot], which never changes, and return a [Command]; the
// engine commits it. Nothing outside this package needs a cast.
//
//	var Count = state.Key[int, int]{Name: "count", Scope: state.ScopeThread,
//		Apply: func(v, add int) int { return v + add }}
//
//	n, err := Count.Read(snapshot)
//	command := Count.Update(1)
//
// A commit comes to a [Patch], which is what the log keeps: values, not the
// updates that led to them. A [Fold] makes a snapshot of patches again, without
// the keys and their Apply: state outlives the code that wrote it.
//
// What outlives a thread, or is shared between threads and agents, is a profile:
// see [ProfileKey]. It is read and written at once, and is no part of a snapshot
// or a commit.
package state
