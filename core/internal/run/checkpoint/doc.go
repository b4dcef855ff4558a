// Package checkpoint reads the committed part of a thread, as cheaply as possible,
// and keeps it in memory.
//
// A step starts with a [Conversation]: the messages of the thread's window, the
// state, the totals of its run and the newest turn's record. It is folded from the
// log, and all of it follows from the log alone. A [Reader] makes it in three ways:
//
//   - The thread is in the cache, up to the head: nothing is read.
//   - The cache has a prefix of the log: the records after that are read, forwards.
//   - The cache has nothing: the log is read backwards, as far as the window goes,
//     and the state from its stored snapshot (S#) and the records after it.
//
// All three make the same Conversation, and so the same request and the same bytes
// of the step's records: one function folds an entry, for entries that were read
// and for those that the step has committed.
//
// A Conversation never changes once it is in the cache: a step that fails leaves it
// as it was, and any number of steps may read it. Its messages are a [List]. The
// step that extends it and the Conversation after that share one array of it: a
// step copies the messages that it adds, and not the thread.
//
// The package writes nothing. [Conversation.SaveState] makes the records of a
// snapshot, which the step puts. S# and the cache are caches: if they are wrong or
// missing, the log has the same content, only longer.
package checkpoint
