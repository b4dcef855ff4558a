// Package thread is the heart of the runtime: the HEAD of a thread and the pure
// function that changes it.
//
// Everything that can race about a thread (its open run, its holder, the waiting
// work, the visible records) is in one small [Head]. A [Transition] is one change of
// it; [Apply] returns the next head and a [Result]: the records to store before that
// head and the messages that may be sent after it. It does no I/O, reads no clock and
// makes no ids. Every backend runs the same function and then one compare-and-set on
// the version, so that no other code decides about claims, fences, attempts, tickets
// or ends. The rules of a kind of change for every head, such as that only a claim's
// holder makes it, are in one table: see [ChangeKind].
//
//	next, result, err := thread.Apply(head, thread.Transition{
//		Now: e.Millis(), CommitID: e.NewID(),
//		Change: thread.TakeClaim{Worker: "w1", Lease: 30_000},
//	})
//
// The order of a transition is the caller's to keep: Result.Before and the
// records that the change makes visible are stored first, then the head, then
// Result.Hint is sent. A crash in between leaves records that no head names, which
// readers do not believe, or a head without its hint, which the sweep finds by
// DueAt. The loser of the compare-and-set gets the newer head and applies the change
// to that one; nothing of the refused transition may be used.
//
// The notices that a thread owes others are in its own head, written by the very
// commit that causes them: an [OutboxEntry] for the parent of a child that is over, for
// the children of a run that is over, for another thread that gets a message or, with
// Transition.Announce, for subscribers to the progress of runs. A worker that wrote or
// read the head delivers it and applies [Delivered]. The thread is due until its outbox is empty of what the program delivers.
//
// # The life of a run
//
// [Enqueue] queues a [Dispatch]; [TakeClaim] opens it and takes the next fence;
// [CommitTurn] makes an assistant's turn with its calls visible, before any of
// them runs; [Suspend] and [Nack] make known how far its calls are; [CommitStep]
// moves the head over the step's records and hands the run on: it yields, waits
// for a decision, or begins to close. Every run ends through closing, for every
// reason, and [CommitClose] makes the end final. One run is open at a time.
//
// # What no clock decides
//
// A fence tells a holder from an older one; leases, deadlines and AvailableAt only
// tell another worker when it may or should look. A holder whose lease is over may
// still commit, until another claim has replaced it.
//
// # Programs of two releases
//
// The head names the highest schema of any record that it covers, queues or names,
// and a program that reads less takes no claim: see [Schemas] and [Records].
//
// Some fields are laid out for later releases: the trace of a [RunRecord]. No program writes
// them yet. A program that finds them keeps them when it writes their record again, and does
// nothing else for them.
//
// # Checksums of the log
//
// Head.TailSum and the Sum of each turn's [Entry] let a reader check log records that it
// has read eventually consistent: see [NextSum]. A record that was put early may be
// replaced under a higher fence, so that an old version of it may be read. Up to Head.Seq
// no record changes any more: a claim that adopts a result puts the same bytes again.
// The holder computes the checksum from the bytes of the commit and of the results
// that it has stored or adopted, and reads nothing for it. A program that moves Seq and
// computes none drops it, and readers use strong reads up to the next turn with one.
//
// The scripts in testdata are the specification. The tests also try random
// changes and walk every head of a small world.
package thread
