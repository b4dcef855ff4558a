//go:build !race

package simtest

// passings is how many passings of a point are struck, in the matrix and in the search
// for mistakes.
const passings, searched = defaultPassings, defaultPassings
