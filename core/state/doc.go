// Package state is the typed, versioned state of threads, runs and tool calls.
//
// A [Key] names a value of type V that changes by updates of type U. Hooks and
// tools read a [Snapshot], which never changes, and answer with a [Command];
// the engine commits it. Nothing outside this package needs a cast.
//
//	var Count = state.Key[int, int]{Name: "count", Scope: state.ScopeThread,
//		Apply: func(v, add int) int { return v + add }}
//
//	n, err := Count.Read(snapshot)
//	err = Count.Update(&command, 1)
package state
