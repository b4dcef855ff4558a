//go:build !race

package httpapi_test

// everyOffset is the distance of the bytes at which streams are dropped.
const everyOffset = 1
