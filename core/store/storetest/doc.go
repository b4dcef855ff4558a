// Package storetest contains the contract of package store as tests. A backend
// is correct if it passes [Options.Run].
//
//	func TestContract(t *testing.T) {
//		storetest.Options{}.Run(t, func(t *testing.T) store.Backend { return open(t.TempDir()) })
//	}
//
// Each subtest checks one clause. A failure reports the call, the result and the
// result that the contract requires, so that the author of a backend can work
// from the failures alone. The suite uses a backend only through its interface.
//
// [Options] describes where a backend is less exact: how far it rounds due
// times, how long its lists lag, and how large a payload may be. It also tells
// the suite how to stop a Commit between two of its writes, and how to reopen
// the stored data after the process has ended.
//
// [Options.Linearizable] checks what no clause can: the results that concurrent
// clients get must also be possible if the clients call one after the other.
//
// [Faulty] is for tests of code that uses a store. It wraps a correct backend and
// injects the faults that a test defines.
package storetest
