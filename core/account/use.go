package account

import "github.com/reveille-run/reveille/core/internal/thread"

// ModelUse is what was asked of one model: its names, tokens, calls and time.
type ModelUse = thread.ModelUse
