// Package client uses a counter.
package client

import "tiny/counter"

// Count adds until it is over.
func Count(limit int) int {
	c := counter.New(limit)
	for c.Add() {
	}
	return c.N
}
