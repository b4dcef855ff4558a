// Package thread is the heart of the runtime: the HEAD of a thread and the pure
// function that changes it.
//
// Everything that can race about a thread (its open run, who works on it, what
// waits, which records are visible) is in one small [Head]. A change is a
// [Command]; [Apply] answers what the command makes of the head and which
// [Effects] follow. It does no I/O and reads no clock. Every backend runs the
// same function and then one compare-and-set on the version, so nobody else
// decides about claims, epochs, attempts or tickets.
//
//	next, effects, err := thread.Apply(head, thread.Command{
//		Now: e.Millis(), CommitID: e.NewID(),
//		Action: thread.Claim{Worker: "w1", Lease: 30_000},
//	})
//
// effects.Before must be stored before the head is written, effects.Hint is
// sent after it. A head that has a Notify after the write owes a parent word of a
// finished child: whoever wrote or read it delivers it and applies [Notified].
//
// The scripts in testdata are the specification. The tests also try random
// commands and walk every head of a small world.
//
// An [Entry] is one record of the thread's log; the head's Seq says how far the
// log is visible.
package thread
