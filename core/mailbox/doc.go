// Package mailbox is the queue of dispatches: it submits input, hands claims to
// workers, commits what they did and wakes threads whose wake-ups were lost.
//
// # One write decides
//
// The HEAD of a thread is the truth. Every change of it goes through
// [Service.Commit]: thread.Apply says what the change makes of the head, then
// one call of the store writes pointers, records and head, if the head is still
// the one that Apply was given. A refusal brings the head that won, and the
// change is tried on that; so a change is chosen for a head, never once and for
// all (input for a run that has just ended is queued instead). What a refused
// write leaves behind is an orphan: nothing that is read by its name is believed
// unless head, run record or log confirm it.
//
// A write whose response is lost is settled by its commit id, which the head
// keeps; a holder's is kept apart, and so is the one that took the claim, so that no
// other write hides them. Until then the same bytes go out again, and it makes no
// difference which of the tries was applied. Other writes may be hidden: they choose
// their target (a run, an entry, a call, an epoch) once for all tries, and one that the
// head no longer has is looked up (lost.go). A cancelled run, and input that was read at
// the edited revision, is done; anything else is not found.
//
// # A hint is only a hint
//
// A wake-up may be lost, doubled, late or forged; it costs at most one useless
// look at the head. What must hold is the other direction: work that can be
// claimed has a hint on its way, or is found by the sweep.
//
//   - Each write that leaves something to do sends one, after it, in the name of
//     whoever wrote; a duplicate request does too, since the first may have died
//     between its write and its hint. Who leaves while the write is on its way, since
//     the host stops or their time is over, has it seen through first.
//   - A hint that comes too early sends itself again, and so does one whose claim
//     failed, met a suspect beside other work, or a newer program's thread. The
//     message of the queue is acknowledged then: as an item failure it would be
//     hidden for minutes.
//   - The sweep's hints never renew themselves, or each sweep would add another.
//
// # Requests that come twice
//
// A submission with a key has the same ids at every try: the key's pointer is
// stored with the write that accepts it, never before, so that a refused request
// has not used up its key. Without transactions a pointer may be stored by a try
// that went no further; the next one goes on under its ids. A try that was
// paused, and that another overtook, finds its dispatch among the dedupe keys of
// the head. The owner is checked before a key says anything.
//
// # What is told
//
// That a child run is over, and that a run waits, has ended or is given up, stands in
// the head from the write that makes it so. A worker tells it after its own work, with
// [Service.Tell]: parents by a decision or internal input, the rest of the world by a
// [Publisher]. Whoever writes such a head and is no worker wakes one. What was told is
// cleared by another write, so that it is told at least once.
//
// # Where to look
//
//   - The loop that every write goes through, and what a refusal or a lost response
//     means in it: commit.run, commit.seeThrough and commit.stand in commit.go; what
//     became of a target that a hidden write may have taken out: lost.go.
//   - What input does to a thread as it stands: submission.change in submit.go.
//   - Which input a message names that is to be said again, and which key makes that one
//     request: retake.go. What is forked, and what goes on behind a failure: fork.go and
//     takeup.go.
//   - Whether an earlier try was accepted, and who reads or read its input: accepted,
//     read and ended in status.go.
//   - Which call a decision is on: deciding.find in decide.go; recall.go for one whose
//     ticket is gone.
//   - What is told, how, and when it is tried again: Tell in tell.go, then parent.go and
//     announce.go.
//   - What becomes of a hint: ClaimFrom in claim.go; Sweep and Rewake in sweep.go.
package mailbox
