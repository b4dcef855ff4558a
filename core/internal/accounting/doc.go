// Package accounting charges the usage of runs, holds tenants to their limits, and sums
// usage: the [Gate], the [Run] of each step, and the [Ledger]. Package account has the
// words: limits, the record of a stretch, and the rows of a report.
//
// # Where usage is charged
//
// In one place, the [Run]. A step notes in a [Spent] the usage of each of its calls of a
// model, and reports it once: by [Run.Turn] before the commit whose log has the turn, or by
// [Run.Void] before the write after which no log will have it. The write that ends a
// stretch of the run, or leaves it open after such a turn, stores the result of
// [Run.Settle]. [Run.Release] releases the slot after the run waits or ends. Summaries,
// which no turn has, are charged by Void when they are made, and are in the totals of the
// step that finds them, by [Run.AddSummary].
//
// Three ledgers stay apart, since a crash treats them differently. The totals are in the
// log, and as true as that. The usage record is in the commit that ends the stretch. The
// slot and the counters of the day are written before the commit, and too high after a
// crash.
//
// # Limits
//
// Limits bound the usage of a tenant in a day (runs, tokens, money) and how many of its
// runs are active at a time. A tenant without limits costs no read and no write. The
// counters of a tenant are one record, a [store.Admission]. A run passes it up to five
// times:
//
//   - It is admitted before it is enqueued, by one write that compares and counts. From
//     then on it has a slot: a run counts as active while it is queued to run or running,
//     also while it waits for another run of its thread. A run that waits has no slot.
//   - Each turn's tokens are charged before the commit that holds the turn. The slot
//     remembers the figures that the run's log will have then. When the slot is released,
//     the difference that a crash has lost is deducted again: after crashes the counters
//     are too high, never too low.
//   - Usage of a model for a turn that will be in no log, since its run was cancelled, has
//     failed or is tried again, is charged to the day before the write that decides this.
//     The slot knows nothing of it, so that the charge stays.
//   - The slot is released after the commit by which the run waits or ends. A run that
//     resumes takes one again in any case, since a decision is never refused: more runs may
//     then be active than are allowed.
//   - If a process died between these writes, the sweep corrects the record: it releases
//     slots whose run the head of its thread neither runs nor queues.
//
// A child run counts as any other, and waits for no slot: the run that waits for it would
// wait for ever. Over a limit of the day it is not started, which its parent's tool reads
// as an error.
//
// Days are those of UTC. A run is counted on the day on which it is admitted, a turn on the
// day on which it is charged. From a slot that is older than the day nothing is deducted.
//
// # Usage
//
// A stretch is a part of a run between two waits. Its [Record] is stored with the commit
// that ends it, outside of the thread, so that it outlives the thread's erasure, and holds
// no content. Tokens, inferences, tool calls and their times come from the log's records.
// Values that only the spending process knows (the handler's time, the units of the store
// and the requests of the queue) travel in the head, see core.Spent: a crash loses what was
// spent since the last write, and the cost of that write itself is estimated.
//
// Hours that have passed are summed by [Ledger.Sum], always from the records and never by
// adding, so that a record which comes late or is put again counts once. [Ledger.Report]
// reads the sums, and the records of every hour whose sum is not known to be whole, the
// current one first of all.
package accounting
