package model

import (
	"context"
	"iter"
)

// None is the model of a process that resolves agents but runs no steps: every
// inference is an error.
type None struct{}

// Stream implements Model.
func (None) Stream(context.Context, Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		yield(Delta{}, &Error{Kind: KindInvalid, Message: "this process runs no inference"})
	}
}
