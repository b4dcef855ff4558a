// Package hosttest holds what a whole runtime must do on any backend: suites
// that run real runtimes over a store, a simulated queue and a clock, one turn
// at a time. A backend's test passes itself in:
//
//	func TestReleases(t *testing.T) {
//		hosttest.Options{Open: open}.Releases(t)
//	}
package hosttest
