//go:build race

package sim

// worlds is how many a test run goes through: the detector makes each slow, and
// one goroutine moves at a time.
const worlds = 2 * Kinds

// days is how many days of a few tenants it goes through.
const days = 1
