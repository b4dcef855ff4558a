// Package mailbox is the queue of dispatches: it submits input, hands claims to workers,
// commits what they did, and wakes threads whose wake-ups were lost.
//
// # One write decides
//
// The head of a thread is the truth. Every change of it goes through [Service.Commit]:
// thread.Apply computes the next head, then one call of the store writes pointers, records and
// head, if the stored head is still the one that Apply received. A refusal brings the head that
// won, and the change is tried on that. So a change is chosen for a head, never once for all
// heads: input for a run that has just ended is queued instead. A refused write may leave an
// orphan: a record proves nothing unless head, run record or log confirm it.
//
// A write whose response is lost is recognized by its commit id, which the head keeps. The
// id of a claim's holder is kept apart, and so is that of the write that made the claim, so
// that no other write hides them. Until the outcome is known the same bytes are sent again,
// and it makes no difference which of the attempts was applied. Other writes may be hidden:
// they choose their target (a run, an entry, a call, an epoch) once for all attempts. If the
// head no longer has the target, they look up its outcome (lost.go). A run that
// was cancelled, and input that was read at the edited revision, count as done; anything
// else is not found.
//
// # A hint is only a hint
//
// A wake-up may be lost, doubled, late or forged; it costs at most one useless look at the
// head. The other direction must hold: work that can be claimed has a hint on its
// way, or is found by the sweep.
//
//   - Each write that leaves something to do sends a hint, after the write. A duplicate
//     request sends one too, since the first may have died between its write and its hint.
//     If the caller leaves while the write is on its way, since the host stops or its time
//     is over, the write is seen through first.
//   - A hint that comes too early sends itself again, and so does one whose claim failed,
//     met a suspect while the process had other work, or met a newer program's thread. The
//     message of the queue is acknowledged then: as an item failure it would be hidden for
//     minutes.
//   - While a worker has a claim, a second hint is on its way, which comes after the lease:
//     see thread.Head.SecondAt. Only a [SecondWaker] is sent second hints.
//   - A stream that follows a thread whose work is abandoned sends a hint, once for each
//     version of the head: see [Service.WakeLeft].
//   - These hints and the sweep's never renew themselves, or each sweep would add another, and
//     each client that comes back.
//   - A run that waits for a time has one hint on its way, with the time in it: requests that
//     come twice, and writes beside the wait, send none, and a hint that comes too early sends
//     itself again only if it is that one. Else a client would leave one with each request. The
//     sweep replaces one that is lost: see thread.Hint.
//   - Within one process, hints are lost with it. There the sweep looks ahead: see
//     [Options.SweepAhead].
//
// # How a waiting run is woken
//
// A waiting run has no claim, and no hint but that of a time. Apart from a cancel or an interrupt,
// which end it, four things end its wait:
//
//   - A decision, by [Service.Decide] or, at the end of a child run, by childended.go:
//     deciding.write in decide.go commits a thread.Decide.
//   - Input of a person, by [Service.Submit]: change in change.go returns a thread.Input, as
//     the reply to the run's question.
//   - The deadline of a ticket: the head is due then, [Service.Sweep] in sweep.go finds the
//     thread, and the claim of its hint ends the run.
//   - The time to wake of a ticket: the claim of its hint decides the ticket in its own write, with
//     a record by wokenIn in claim.go. The write by which the run waits sends the hint. If the time
//     is further ahead than queues hold a hint back, a sweep sends it ten minutes before.
//
// The first two are writes of the head from which thread.Apply derives a hint;
// commit.afterWrite in outcome.go sends it. In all four cases the worker that receives the
// hint claims the thread in [Service.ClaimFrom].
//
// # Requests that come twice
//
// A submission with a key has the same ids at every attempt: the key's pointer is stored
// with the write that accepts it, never before, so that a refused request has not used up
// its key. Without transactions a pointer may be stored by an attempt that died; the next
// one continues under its ids. An attempt that was paused, and that another overtook, finds
// its dispatch among the dedupe keys of the head. The owner is checked before a key reveals
// anything.
//
// # When a decision is a duplicate
//
// A decision is named by its id, within one suspension of one run. Without an id of the
// client's it gets one that is derived from its target and content (Deciding.normalized).
//
//   - Its suspension has a ticket in the head: it is a duplicate if the ticket's decision has
//     the same key, hence the same id. If the ticket is decided by another, it is
//     thread.ErrDecided.
//   - The ticket is gone: it is a duplicate if the head still remembers its key (Head.Recent),
//     and if its record, where there is one, has the same content; see deciding.recall. If
//     the head remembers another decision on the same call or suspension, it is
//     thread.ErrDecided, and if it remembers none, thread.ErrNotFound.
//   - The same id with other content is core.CodeConflict in both cases. So is a derived id
//     that was used on an earlier suspension of a call that waits again: it cannot be known
//     which of the two suspensions the request is for.
//
// A record alone makes no duplicate: the write of it may have been refused, and then the
// decision is written over it.
//
// # The outbox
//
// The outbox of the head has an entry for each child run that is over. It also has one for each
// run that waits, has ended or is given up, from the write that makes it so. The run's record
// has the receiver and the content of the notice. A worker delivers it after its own work, with
// [Service.Deliver]: to parents by a decision or internal input, to the rest of the world by a
// [Publisher]. A writer of such a head that is not a worker wakes one. Another write clears
// delivered entries, so that each is delivered at least once. A deleted thread is erased when
// nothing needs its records any more.
//
// # Messages
//
// A message to another thread is an outbox entry too, which a run's tool has put there while its
// step is under way. Its record has the receiver and the text. It becomes input of the receiver
// under an id that follows from the message's, which makes it arrive once:
//
//   - The entry leaves the sender's head only after the write of the receiver's, or after the
//     last try.
//   - At each head of the receiver that the input is tried on, it is first looked for: in the
//     head, then in the record of the run that it would have started, then in the audits. So a
//     worker that died before it could clear the entry, or one that is late, changes nothing,
//     also after the input was read and the head has forgotten it.
//   - A call that runs again sends the same id.
//
// Messages to one thread arrive in order: an entry waits for the earlier ones to its receiver.
// The write that takes a message from the head after its last attempt notes it as failed. If it is
// sent again, it is in the outbox before the note leaves its list.
//
// The end of a detached child takes the same way if its parent is over: the thread of the parent
// gets it as the input of another run, under the id that the parent would have read it under.
//
// # The parts, and the files in reading order
//
// A [Service] has four parts, each of which knows only those before it: a reader (stored
// records), wakes (hints), slots (of the tenants' limits) and a writer (heads). Each request is
// a separate value that names the Service: submission, deciding, forking; lister needs only the
// reader.
//
//  1. service.go: Options, the Service and its parts.
//  2. submission.go: the parts of a submission: Submission, Key, Opening, Parent, Receipt.
//     check.go validates it.
//  3. submit.go: the life of a submission. change.go: its effect on a head, as a pure function.
//     key.go: the ids of a key. admit.go: the slot that a run needs. records.go, listing.go:
//     its records.
//  4. commit.go: the loop that every write goes through, and the writer. plan.go: a change
//     applied to one head, with its records. outcome.go: the steps after a write, a refusal and
//     a failure. lost.go: the outcome of a target that a hidden write may have removed.
//     bill.go: the charge of a write to its run.
//  5. reader.go: whether an earlier attempt was accepted, and which run read or ended its
//     input. status.go: the state of a run. tickets.go: the tickets of suspended calls.
//     list.go, listended.go: a page of a thread's mailbox.
//  6. wake.go: hints. claim.go: claims. sweep.go: threads whose hints were
//     lost. slots.go: slots whose runs are over.
//  7. decide.go: a decision and its ticket. recall.go: decisions that were stored before.
//  8. retake.go: a submission that repeats or replaces earlier input. original.go: the search
//     for that input. takeup.go: the continuation of a failed run. retry.go: a dead letter
//     again. fork.go: a thread that starts as another.
//  9. cancel.go, edit.go, interrupt.go: the end and the change of input. threads.go: threads
//     without runs, titles and metadata. delete.go, usage.go, children.go: the end of a
//     thread, what its open run had used, and its child threads.
//  10. outbox.go, childended.go, announce.go: notices of the end of a run. detached.go: that of a
//     child whose parent is over. message.go: messages to other threads. failed.go: those that
//     were given up. outward.go: errors in the form that clients may read.
package mailbox
