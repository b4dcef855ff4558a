// Package counter has a mutant for each operator; which of them its tests kill
// is in expected.txt.
package counter

import "log/slog"

// Step is how far a Counter goes.
const Step = 1

// Counter counts up to Max.
type Counter struct {
	Max, N int
	Over   bool
}

// New is tested by package client alone.
func New(limit int) *Counter { return &Counter{Max: limit} }

// Add goes on by a step, and says whether it could.
func (c *Counter) Add() bool {
	if c.N >= c.Max {
		slog.Info("over") // no mutant: nothing depends on it
		c.Over = true
		return false
	}
	c.N += Step
	return true
}

// Kind is tested for 1 only.
func Kind(n int) string {
	switch n {
	case 1, 2:
		return "few"
	}
	return "many"
}

// Either is tested with both only.
func Either(a, b bool) bool { return a || b }

// Wait never ends when its loop is not left.
func Wait(n int) (waited int) {
	for range 1 << 40 {
		if waited++; waited > n {
			break
		}
	}
	return waited
}

// Same compiles to what it was without its last statement.
//
//go:noinline
func Same(n *int) {
	*n = 7
	_ = n
}
