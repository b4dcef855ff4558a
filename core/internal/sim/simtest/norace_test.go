//go:build !race

package simtest

// passings is how many passings of a point are struck, in the matrix and in the search
// for mistakes.
const passings, searched = defaultPassings, defaultPassings

// raced says that a world takes eight times as long.
const raced = false
