// Package web is the place to edit for protocols: it mounts all that the
// deployment speaks on one handler.
package web

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocols/agui"
	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/adapters/protocols/mcp"
	"github.com/reveille-run/reveille/adapters/protocols/page"
	"github.com/reveille-run/reveille/adapters/protocols/protocol"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Options configures [Handler].
type Options = wiring.WebOptions

// Handler returns the handler of all routes and, if o.Page says so, of the page at /.
func Handler(o Options) http.Handler {
	if o.Page {
		o.Page = false
		return page.Before(Handler(o))
	}
	shared := protocol.Options{
		Runtime: o.Runtime, Env: o.Env, DefaultAgent: o.Runtime.DefaultAgent(),
		Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger,
	}
	return httpapi.New(httpapi.Options{
		Options: shared, Authenticate: o.Authenticate, Healthy: o.Runtime.Healthy, Ready: o.Runtime.Ready, UsageReaders: o.UsageReaders, MaxRequests: o.MaxRequests,
		Mounts: map[string]http.Handler{
			"/v1/ai-sdk/": aisdk.New(shared),
			"/v1/ag-ui/":  agui.New(agui.Options{Options: shared, Aliases: o.Runtime}),
			"/v1/mcp":     mcp.New(mcp.Options{Options: shared, Exposed: o.Runtime.Exposed()}),
		},
	})
}
