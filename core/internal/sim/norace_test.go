//go:build !race

package sim

// worlds is how many a test run goes through; make sim takes many more.
const worlds = 10 * Kinds

// days is how many days of a few tenants it goes through.
const days = 4
