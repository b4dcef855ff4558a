//go:build race

package simtest

// passings is how many passings of a point are struck, in the matrix and in the search
// for mistakes: a world takes eight times as long.
const passings, searched = 1, 2

// raced says so.
const raced = true
