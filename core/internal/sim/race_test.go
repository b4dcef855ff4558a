//go:build race

package sim

// worlds is how many a test run goes through: the detector makes each slow, and
// one goroutine moves at a time.
const worlds = 2 * Kinds
