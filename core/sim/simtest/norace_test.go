//go:build !race

package simtest

// passings is how many passings of a point are struck.
const passings = defaultPassings
