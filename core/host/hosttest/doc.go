// Package hosttest contains suites for what a whole runtime must do on any backend.
// They run real runtimes over a store, a simulated queue and a clock, one turn at a
// time. The test of a backend passes a function that opens it:
//
//	func TestReleases(t *testing.T) {
//		hosttest.Options{Open: open}.Releases(t)
//	}
package hosttest
