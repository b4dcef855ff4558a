//go:build !race

package httpapi_test

import "flag"

var dropEvery = flag.Int("drop.every", 5, "the distance of the bytes at which streams are dropped")

// everyOffset is the distance of the bytes at which streams are dropped.
func everyOffset() int { return *dropEvery }
