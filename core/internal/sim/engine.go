package sim

import (
	"context"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	runtime "github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// engine is the program that a process runs: the real runtime.
type engine struct{ runtime *runtime.Host }

// newEngine builds the runtime of a process.
func newEngine(h *host) (engine, error) {
	records := thread.Records{Schemas: h.schemas}
	if h.schemas.Reads > thread.SchemaRead {
		records.Extra = extra
	}
	config := runtime.Options{
		Env: h.env(), Store: backend{h}, Waker: h.waker(), Registry: h.agents(), Records: records,
		Worker: h.name, Lease: lease, Poll: h.world.poll(), Logger: h.logger(), Snapshot: 2,
		Limits: h.world.admissions.limits, Prices: h.world.provider.prices.Cost,
	}
	if h.world.config.Accounts.Metered {
		config.Metering = &runtime.Metering{Models: h.world.provider.prices}
	}
	if h.world.config.Agents.Children {
		if config.Announce = true; h.role == roleStep || h.role == roleLocal {
			config.Publisher = publisher{h}
		}
	}
	if h.world.config.Processes.Own {
		queue := runtime.NewQueue(config.Env)
		queue.Others = config.Waker
		config.Waker = queue
	}
	r, err := runtime.New(config)
	return engine{r}, err
}

// agents are what the process's program has.
func (h *host) agents() *registry.Registry {
	if h.lacks() {
		return h.world.older
	}
	return h.world.agents
}

// logger writes into the trace, if there is one.
func (h *host) logger() *slog.Logger {
	if h.world.config.Trace == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(traceWriter{h}, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// traceWriter is a process's log.
type traceWriter struct{ h *host }

// Write implements io.Writer.
func (t traceWriter) Write(line []byte) (int, error) {
	t.h.world.config.Trace("%s: log %s", t.h.name, line[:max(0, len(line)-1)])
	return len(line), nil
}

var errStopping = runtime.ErrStopping

// reclaim releases the claims of a process that is gone, and sweeps.
func (e engine) reclaim(ctx context.Context, keys []core.ThreadKey) error {
	if err := e.runtime.Reclaim(ctx, keys); err != nil {
		return err
	}
	_, err := e.runtime.Sweep(ctx)
	return err
}

// submit makes a client's submission, inline or not. accepted reports that the client
// knows it to be durable, with any error.
func (e engine) submit(ctx context.Context, s mailbox.Submission, inline bool, heard func(core.Event)) (r mailbox.Receipt, accepted bool, err error) {
	if !inline {
		r, err = e.runtime.Submit(ctx, s)
		return r, err == nil, err
	}
	shown := false
	r, err = e.runtime.Stream(ctx, s, runtime.ListenerFunc(func(event core.Event) error {
		shown = true
		heard(event)
		return nil
	}))
	return r, shown || err == nil, err
}

// decide takes a person's decision, inline or not; a zero run is the open one.
func (e engine) decide(ctx context.Context, as core.Identity, threadID string, run core.ID, d mailbox.Deciding, inline bool, heard func(core.Event)) (mailbox.Decided, error) {
	switch {
	case !inline && run.IsZero():
		return e.runtime.DecideThread(ctx, as, threadID, d)
	case !inline:
		return e.runtime.Decide(ctx, as, run, d)
	}
	d.Run = run
	all, err := e.runtime.StreamDecisions(ctx, as, threadID, []mailbox.Deciding{d}, runtime.ListenerFunc(func(event core.Event) error {
		heard(event)
		return nil
	}))
	if len(all) > 0 {
		return all[0], nil
	}
	return mailbox.Decided{}, err
}
