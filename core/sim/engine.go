package sim

import (
	"context"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// engine is what a process runs: the runtime's facade.
type engine interface {
	WorkBatch(ctx context.Context, hints []core.WakeUp) []error
	WorkLocal(ctx context.Context, hint core.WakeUp) error
	Sweep(ctx context.Context) error
	Reclaim(ctx context.Context, keys []core.ThreadKey) error
	Submit(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error)
	Stream(ctx context.Context, s mailbox.Submission, accepted func(mailbox.Receipt)) error
	Cancel(ctx context.Context, key core.ThreadKey, run core.ID) (core.ID, error)
	Edit(ctx context.Context, key core.ThreadKey, id core.ID, messages []core.Message) error
}

func newEngine(h *host) (engine, error) {
	records := thread.Records{Schemas: h.schemas}
	if h.schemas.Reads > 1 {
		records.Extra = extra
	}
	box, err := mailbox.New(mailbox.Options{
		Env: h.env(), Store: backend{h}, Waker: waker{h}, Logger: slog.New(slog.DiscardHandler),
		Records: records, Worker: h.name, Lease: lease,
	})
	return &stub{box, h, records}, err
}
