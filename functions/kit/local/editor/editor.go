// Package editor is the local host for an editor. The editor starts it and speaks the Agent
// Client Protocol with it on standard input and output:
//
//	go run ./scripts/user/acp
//
// See packages local and acp. The package is separate, so that no other program links the
// protocol.
package editor

import (
	"context"

	"github.com/reveille-run/reveille/adapters/protocols/acp"
	"github.com/reveille-run/reveille/functions/kit/local"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Main runs the host until the editor closes its side, or a signal ends it. Sessions use the
// default agent.
func Main(parts wiring.Parts, models wiring.Models) {
	local.Stdio("acp", parts, models, func(ctx context.Context, c local.Conversation) error {
		return acp.Serve(ctx, c.In, c.Out, c.Runtime, &acp.Options{Identity: c.Identity, Kinds: c.Kinds, Log: c.Log})
	})
}
