// Package storetest is the contract of package store as tests: a backend is
// right when it passes [Options.Run].
//
//	func TestContract(t *testing.T) {
//		storetest.Options{}.Run(t, func(t *testing.T) store.Backend { return open(t.TempDir()) })
//	}
//
// Each subtest is one clause. A failure says what the backend was asked, what
// it returned and what the contract wants, so that somebody who writes a
// backend can work from the failures alone. The suite knows a backend only
// through its interface.
//
// [Options] tells the suite what a backend cannot do exactly: how far it rounds
// due times, how long its lists lag, how large a payload may be, how to stop a
// Commit between two of its writes, and how to find what it has stored once its
// process is gone.
//
// [Options.Linearizable] looks at what no clause does: what several clients at once are
// answered must be what one of them after the other could have been.
//
// [Faulty] is for the tests of what uses a store: a way to a right backend on
// which things go wrong as the test says.
package storetest
