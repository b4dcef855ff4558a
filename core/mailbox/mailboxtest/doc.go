// Package mailboxtest is for tests of what runs on package mailbox: a [Queue]
// takes the place of the one that delivers wake-ups.
package mailboxtest
