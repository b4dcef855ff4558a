package thread

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Create makes a thread without messages.
type Create struct {
	Owner string // user on whose behalf it happens
}

// ErrExists refuses to make a thread that is there already.
var ErrExists = core.Errorf(core.CodeConflict, "it exists already")

func (c Create) apply(h *Head, _ Transition) (Result, error) {
	switch {
	case h.Exists():
		return Result{}, ErrExists
	case len(c.Owner) > wire.MaxName:
		return Result{}, invalid("create: owner of %d bytes, at most %d are allowed", len(c.Owner), wire.MaxName)
	}
	h.Owner = c.Owner
	return Result{}, nil
}

// Created is when the thread was made, in unix milliseconds: the time in the id of its
// first commit.
func (h *Head) Created() int64 { return int64(h.Incarnation >> 16) }
