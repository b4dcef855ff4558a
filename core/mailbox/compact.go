package mailbox

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// WakeToCompact asks for the summary that the thread's newest turn names. One that gets
// lost costs the summary, and nobody looks for it: a later step asks again.
func (s *Service) WakeToCompact(ctx context.Context, key core.ThreadKey) {
	err := s.send(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Kind: core.WakeCompact}, 0, env.PointContinue)
	if err != nil {
		s.log.WarnContext(ctx, "nobody was asked for a summary, a later step asks again", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}
