//go:build race

package simtest

// passings is how many passings of a point are struck: a world takes eight times as long.
const passings = 1
