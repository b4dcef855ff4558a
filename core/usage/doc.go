// Package usage is what runs have used, for whoever pays: the [Record] of a stretch of
// a run, and the sums over many of them.
//
// A stretch is a part of a run between two waits. Its record is stored with the commit
// that ends it, outside of the thread, so that it outlives the thread's erasure, and
// holds no content. Tokens, inferences, tool calls and their times are what the log's
// records say. What is known only to the process that spent it, the handler's time, the
// units of the store and the requests of the queue, travels in the head, see
// thread.Spent: a crash loses what was spent since the last write, and what that write
// itself costs is estimated.
//
// Hours that have passed are summed by [Ledger.Sum], always from the records and never
// by adding, so that a record which comes late or is put again counts once.
// [Ledger.Report] reads the sums, and the records of every hour whose sum is not known
// to be whole, the current one first of all.
package usage
