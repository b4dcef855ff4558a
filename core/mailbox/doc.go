// Package mailbox is the queue of dispatches: it submits input, hands claims to
// workers, commits what they did and repairs what nobody woke.
//
// The HEAD of a thread is the truth; a wake-up is a hint that may be lost. Every
// change goes through [Service.Commit], which runs thread.Apply and one
// compare-and-set, settles ambiguous answers, stores what must come before the
// head and sends what comes after it.
package mailbox
