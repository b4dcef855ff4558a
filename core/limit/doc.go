// Package limit bounds what the tenants of a deployment may use: runs, tokens and money a
// day, and runs at a time. Without limits, and for a tenant that has none, nothing here
// reads or writes anything.
//
// What is counted of a tenant is one record, a [store.Admission]. A run passes it up to
// five times:
//
//   - It is admitted before it is enqueued, by one write that compares and counts. From
//     then on it has a slot: a run is at a time with others while it is queued to run or
//     running, also while it is queued behind another run of its thread. A run that waits
//     has no slot.
//   - Each turn's tokens are charged before the commit that holds the turn. The slot
//     remembers what the run's log will say then, so that what a crash has lost of it is
//     taken off again when the slot is given back: after crashes the counters are too
//     high, never too low.
//   - What a model has used for a turn that comes to nothing, since its run was cancelled,
//     has failed or is tried again, is charged to the day before the write that says so.
//     The slot knows nothing of it, so that it stays.
//   - The slot is given back behind the commit by which the run waits or ends. A run that
//     goes on takes it again without being asked, since a decision is never refused: so
//     may more runs be at a time than are allowed.
//   - What died between these writes is put right by the sweep: it gives back slots whose
//     run the head of its thread neither runs nor queues.
//
// A child run counts as any other, and waits for no slot: the run that waits for it would
// wait for ever. Over a limit of the day it is not started, which its parent's tool reads
// as an error.
//
// Days are those of UTC. A run is counted on the day on which it is admitted, a turn on the
// day on which it is charged. Of a slot that is older than the day nothing is taken off.
package limit
