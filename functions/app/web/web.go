// Package web mounts every protocol that the deployment speaks on one handler.
package web

import (
	"log/slog"
	"net/http"

	"github.com/reveille-run/reveille/adapters/aisdk"
	"github.com/reveille-run/reveille/adapters/httpapi"
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
	return httpapi.New(httpapi.Options{
		Runtime: o.Runtime, Env: o.Env, Authenticate: o.Authenticate, DefaultAgent: app.DefaultAgent,
		Buffered: o.Buffered, StreamURL: o.StreamURL, Healthy: o.Runtime.Healthy, Log: o.Logger,
		Mounts: map[string]http.Handler{
			"/v1/ai-sdk/": aisdk.New(aisdk.Options{
				Runtime: o.Runtime, Env: o.Env, DefaultAgent: app.DefaultAgent,
				Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger,
			}),
		},
	})
}
