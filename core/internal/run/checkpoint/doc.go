// Package checkpoint reads what is committed of a thread, as cheaply as it can be read,
// and keeps it in memory.
//
// What a step begins with is a [Conversation]: the messages of the thread's window, the
// state, the totals of its run and what the newest turn's record says. It is folded from
// the log, and all of it follows from the log alone. A [Reader] comes to it in three ways:
//
//   - The thread is in the cache, up to the head: nothing is read.
//   - The cache has a prefix of the log: the records after that are read, forwards.
//   - The cache has nothing: the log is read backwards, as far as the window goes, and the
//     state from its stored snapshot (S#) and the records after it.
//
// All three come to the same Conversation, and so to the same request and the same bytes
// of the step's records: there is one function that folds an entry, for entries that were
// read and for those that the step has committed.
//
// A Conversation never changes once it is in the cache: a step that fails leaves it as it
// was, and any number of steps may read it. Its messages are a [List], of which the step
// that extends it and the Conversation after that share one array: a step copies what it
// adds, and not the thread.
//
// The package writes nothing. [Conversation.SaveState] makes the records of a snapshot,
// which the step puts. S# and the cache are caches: whatever is wrong with them or missing,
// the log says the same, only longer.
package checkpoint
