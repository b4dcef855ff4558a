// Package web mounts every protocol that the deployment speaks on one handler.
package web

import (
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/aisdk"
	"github.com/reveille-run/reveille/adapters/httpapi"
	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/functions/app"
)

// Options configures [Handler]. Runtime, Env and Authenticate are required.
type Options struct {
	Runtime      *runtime.Runtime
	Env          *env.Env
	Authenticate func(*http.Request) (core.Identity, error)
	Buffered     bool   // the transport cannot stream
	StreamURL    string // base address of the function that can
	Logger       *slog.Logger
}

// Handler returns the handler of all routes.
func Handler(o Options) http.Handler {
	shared := protocol.Options{
		Runtime: o.Runtime, Env: o.Env, DefaultAgent: app.DefaultAgent,
		Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger,
	}
	return httpapi.New(httpapi.Options{
		Options: shared, Authenticate: o.Authenticate, Healthy: o.Runtime.Healthy,
		Mounts: map[string]http.Handler{"/v1/ai-sdk/": aisdk.New(shared)},
	})
}
