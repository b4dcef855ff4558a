// Package web is the place to edit for protocols: it mounts all that the
// deployment speaks on one handler.
package web

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/aisdk"
	"github.com/reveille-run/reveille/adapters/httpapi"
	"github.com/reveille-run/reveille/functions/wiring"
)

// Options configures [Handler].
type Options = wiring.WebOptions

// Handler returns the handler of all routes.
func Handler(o Options) http.Handler {
	return httpapi.New(httpapi.Options{
		Runtime: o.Runtime, Env: o.Env, Authenticate: o.Authenticate, DefaultAgent: o.Runtime.DefaultAgent(),
		Buffered: o.Buffered, StreamURL: o.StreamURL, Healthy: o.Runtime.Healthy, Log: o.Logger,
		Mounts: map[string]http.Handler{
			"/v1/ai-sdk/": aisdk.New(aisdk.Options{
				Runtime: o.Runtime, Env: o.Env, DefaultAgent: o.Runtime.DefaultAgent(),
				Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger,
			}),
		},
	})
}
