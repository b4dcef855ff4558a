//go:build !killpoints

package inject

import (
	"net/http"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
)

// Parts returns parts.
func Parts(parts agent.Parts) (agent.Parts, error) { return parts, nil }

// Handler returns h.
func Handler(_ *env.Env, h http.Handler) http.Handler { return h }

// Loopback reports whether webhooks may be sent to this machine: not from a function.
func Loopback() bool { return false }
