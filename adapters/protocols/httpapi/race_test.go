//go:build race

package httpapi_test

// everyOffset is the distance of the bytes at which streams are dropped: the race detector
// makes all of it ten times slower.
func everyOffset() int { return 23 }
