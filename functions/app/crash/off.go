//go:build !killpoints

package crash

import (
	"net/http"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
)

// Variables are the further environment variables of the build: none.
func Variables() []string { return nil }

// Reach returns next.
func Reach(next func(env.Point, env.Side)) func(env.Point, env.Side) { return next }

// Parts returns parts.
func Parts(parts agent.Parts) agent.Parts { return parts }

// Handler returns h.
func Handler(_ *env.Env, h http.Handler) http.Handler { return h }
