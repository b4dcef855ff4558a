// Package account defines the limits of tenants, the usage [Record] of each stretch of a
// run, and the [Row] of a report.
//
// # Limits
//
// Limits bound the usage of a tenant in a day (runs, tokens, money) and how many of its
// runs are active at a time. A tenant without limits costs no read and no write. A run is
// counted before it is enqueued; it is active while it is queued to run or running, not
// while it waits. Over a limit it is refused with a [ReachedError]; a run that exceeds a
// limit of the day ends at its next call of a model. A child run counts as any other, but
// waits for no slot.
//
// Days are those of UTC. A run is counted on the day on which it is admitted, a turn on the
// day on which it is charged. After a crash the counters are too high, never too low.
//
// # Usage
//
// A stretch is a part of a run between two waits. Its [Record] is stored with the commit
// that ends it, outside of the thread, so that it outlives the thread's erasure, and holds
// no content. Tokens, inferences, tool calls and their times come from the log's records.
// Values that only the spending process knows are the handler's time, the units of the
// store and the requests of the queue. They are as true as the last write before a crash,
// and the cost of that write itself is estimated.
package account
