// Package stack makes room on the stack of the main goroutine while it is nearly empty. It is
// imported for that alone, by package cloud, which all functions have.
//
// A stack starts with a few kilobytes. Go doubles it whenever a call does not fit, and copies
// it with all calls that are under way. The start of a function runs in the main goroutine,
// from the first package's variables to the first request: it met four such copies, which were
// a fortieth of its time. This package imports nothing, so that Go initializes it before the
// packages of the AWS SDK.
package stack

// room is what the start of a function takes of the stack, in bytes, and as much again.
const room = 56 << 10

func init() { grow(0) }

// grow is a function with a large frame, which it uses only if it is to fill it: the stack
// has to have room for the frame before, and none of it is written.
//
//go:noinline
func grow(fill int) (last byte) {
	if fill == 0 {
		return 0
	}
	var frame [room]byte
	for i := range frame {
		frame[i] = byte(fill + i)
	}
	return frame[fill%room]
}
