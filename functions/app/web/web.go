// Package web is the place to edit for protocols: it mounts the protocols of the deployment
// on one handler.
package web

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocols/agui"
	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/adapters/protocols/mcp"
	"github.com/reveille-run/reveille/adapters/protocols/page"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Options configures [Handler].
type Options = wiring.WebOptions

// Handler returns the handler of all routes, and of the page at / if o.Page is set.
func Handler(o Options) http.Handler {
	if o.Page {
		o.Page = false
		return page.Before(Handler(o))
	}
	return httpapi.New(o.Runtime, &httpapi.Options{
		Authenticate: o.Authenticate, UsageReaders: o.UsageReaders, MaxRequests: o.MaxRequests, MaxBody: o.MaxBody, ShowModels: o.ShowModels, ShowRequests: o.ShowRequests,
		Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger,
		Mounts: map[string]http.Handler{
			"/v1/ai-sdk/": aisdk.New(o.Runtime, &aisdk.Options{Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger}),
			"/v1/ag-ui/":  agui.New(o.Runtime, &agui.Options{Buffered: o.Buffered, StreamURL: o.StreamURL, Log: o.Logger}),
			"/v1/mcp":     mcp.New(o.Runtime, &mcp.Options{Buffered: o.Buffered, Log: o.Logger}),
		},
	})
}
