package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Submitted finds what was submitted to a thread under a Key: the run that reads it, or
// has read it. ok is false when nothing was, or the Key is forgotten. head is the
// thread's, read before.
func (s *Service) Submitted(ctx context.Context, key core.ThreadKey, head thread.Head, name string) (run core.ID, ok bool, err error) {
	value, ok, err := s.store.Pointer(ctx, key.Tenant, keyName(key.Thread, name))
	if err != nil || !ok {
		return run, false, err
	}
	p, err := decodePointer(value)
	if err != nil {
		return run, false, fmt.Errorf("idempotency key: %w", err)
	}
	run, _, ok, err = s.accepted(ctx, key, head, p.Run, p.Dispatch)
	return run, ok, err
}
