package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/outbound/metrics"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/kit/agentfiles"
	announcing "github.com/reveille-run/reveille/functions/kit/internal/announce"
	"github.com/reveille-run/reveille/functions/kit/internal/inject"
	"github.com/reveille-run/reveille/functions/kit/internal/usage"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// localTenant owns everything on the local host unless REVEILLE_TENANT says who does.
const localTenant = "local"

// followInterval is long: the file is this process's alone, and it is told of what
// it writes itself.
const followInterval = 5 * time.Second

// localHost is the whole deployment in one process.
type localHost struct {
	runtime  *host.Host
	handler  http.Handler // nil: the host has no address
	open     atomic.Int64 // requests under way, streams among them
	linger   time.Duration
	queue    *queue
	metrics  *metrics.Metrics
	stop     context.CancelFunc
	wait     sync.WaitGroup
	rested   sync.Once
	triggers *rules.Set
	kinds    map[string]string // see Conversation
	file     *bolt.Store       // nil: the store is in memory
	broken   chan error        // gets one error: why the file can be used no more
	log      *slog.Logger
}

// newHost opens the store, takes back the claims of the process before, wakes
// what is due and starts the queue's workers.
func newHost(ctx context.Context, e *env.Env, s settings.Settings, log *slog.Logger, d wiring.Deployment) (*localHost, error) {
	h := &localHost{queue: newQueue(e, log), linger: lingerTime, broken: make(chan error, 1), log: log}
	backend, claimed, err := h.openStore(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := h.build(e, s, backend, log, d); err != nil {
		h.shutDown()
		return nil, err
	}
	if h.handler != nil {
		guarded := newGuard(s, h.metrics.Count(h.showMetrics(h.watchFile(httpapi.CORS(s.Origins, h.admit(s.Requests, h.handler))))))
		h.handler = httpapi.LogRequests(e, log, slog.LevelDebug, guarded) // the lines of runs are enough for a laptop
	}
	if err := h.runtime.Reclaim(ctx, claimed); err != nil {
		h.shutDown()
		return nil, err
	}
	if err := h.repair(ctx); err != nil {
		if !h.readable() {
			h.shutDown()
			return nil, err
		}
		log.Error("disk cannot be written, host is read-only until it can", "error", err)
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	handlers := awslambda.Handlers{Env: e, Logger: log}
	step, dead := handlers.Step(h.runtime.WorkBatch), handlers.DeadLetters(h.runtime.Rewake)
	h.wait.Go(func() { h.queue.run(ctx, step, dead) })
	h.wait.Go(func() { h.sweep(ctx, s.Sweep) })
	h.wait.Go(func() { h.triggers.KeepTime(ctx, e) })
	return h, nil
}

// openStore opens the backend and lists the open claims, whose workers are gone.
func (h *localHost) openStore(ctx context.Context, s settings.Settings) (store.Backend, []core.ThreadKey, error) {
	if s.Data == "memory" {
		return memory.New(), nil, nil
	}
	file, err := bolt.Open(s.Data, bolt.Options{})
	if errors.Is(err, bolt.ErrLocked) {
		return nil, nil, fmt.Errorf("%w: end that one, or set REVEILLE_DATA to another file", err)
	}
	if err != nil {
		return nil, nil, err
	}
	h.file = file
	claimed, err := file.Claimed(ctx)
	if err != nil {
		h.shutDown()
		return nil, nil, fmt.Errorf("list open claims: %w", err)
	}
	return file, claimed, nil
}

func (h *localHost) build(e *env.Env, s settings.Settings, backend store.Backend, log *slog.Logger, d wiring.Deployment) error {
	files, err := agentfiles.Read(s.Agents)
	if err != nil {
		return err
	}
	parts, err := d.With(files.Add).Agents(e, s)
	if err != nil {
		return err
	}
	config, err := h.configure(e, s, backend, parts)
	if err != nil {
		return err
	}
	if h.runtime, err = host.New(config); err != nil {
		return files.Locate(err)
	}
	h.kinds = kinds(parts)
	if d.Web != nil {
		h.handler = inject.Handler(e, d.Web(wiring.WebOptions{
			Runtime: h.runtime, Authenticate: httpapi.Anonymous(tenant(s)), Page: s.ShowsPage(true), ShowModels: s.ShowsModels(true), ShowRequests: s.ShowsRequests(true),
			MaxRequests: s.Requests, MaxBody: s.MaxBody, Logger: log,
		}))
	}
	if err := h.openTriggers(e, s, log); err != nil {
		return err
	}
	announce(log, s, parts, h.triggers.Names())
	warnOfKeys(log, s)
	warnOfProxy(log, s, os.Getenv)
	return nil
}

// configure returns the options of the runtime. Its test checks each line that a document
// promises.
func (h *localHost) configure(e *env.Env, s settings.Settings, backend store.Backend, parts agent.Parts) (host.Options, error) {
	hook, err := announcing.Webhook(s, e, true)
	if err != nil {
		return host.Options{}, err
	}
	if s.EventBus != "" {
		return host.Options{}, fmt.Errorf("environment variable REVEILLE_EVENT_BUS applies to AWS only, unset it: on the local host use REVEILLE_WEBHOOK_URL")
	}
	metering, err := usage.Metering(s)
	if err != nil {
		return host.Options{}, err
	}
	h.metrics = h.newMetrics(backend, tenant(s))
	config := host.Options{
		Env: e, Store: backend, Waker: h.queue, Agents: parts, Logger: h.log,
		LeaveFor: -1, // it holds the file: no other build has what this one lacks
		Worker:   "dev", Lease: s.Lease, SweepAhead: 2 * s.Sweep, Steps: s.Steps, CacheSize: s.CacheSize,
		FollowInterval: followInterval, Publisher: hook, Observer: h.metrics,
		Metering: metering,
	}
	err = usage.Limit(&config, s)
	return config, err
}

// purgeLimit is the maximum number of expired records that one sweep erases.
const purgeLimit = 1000

// sumTime is the time that one sweep has to sum usage.
const sumTime = time.Second

// repair wakes overdue threads, sums usage and erases expired records. If the file was
// removed or is damaged as a whole, it does nothing else and returns that error.
func (h *localHost) repair(ctx context.Context) error {
	if h.file == nil {
		_, err := h.runtime.Sweep(ctx)
		return errors.Join(err, h.sumUsage(ctx))
	}
	if err := h.file.Check(); err != nil {
		return err
	}
	var probeErr error
	if h.file.Failing() != nil { // or an idle host would stay unhealthy
		probeErr = h.file.Probe(ctx)
	}
	_, err := h.runtime.Sweep(ctx)
	err = errors.Join(err, h.sumUsage(ctx))
	_, purgeErr := h.file.Purge(ctx, purgeLimit)
	return errors.Join(probeErr, err, purgeErr)
}

// readable reports whether the only problem of the file is that it cannot be written.
func (h *localHost) readable() bool {
	return h.file != nil && h.file.Check() == nil && h.file.Failing() != nil
}

func (h *localHost) sumUsage(ctx context.Context) error {
	_, err := h.runtime.SumUsage(ctx, time.Now().Add(sumTime))
	return err
}

// sweep repairs until ctx is done, or until the file is unusable. A file that was only moved
// may return.
func (h *localHost) sweep(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := h.repair(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if h.file != nil {
			if broken := h.file.Check(); broken != nil && !errors.Is(broken, bolt.ErrReplaced) {
				h.broken <- broken
				return
			}
		}
		h.log.Error("sweep failed", "error", err)
	}
}

// restTime is the time that workers have to end: a step that must stop releases its run
// within four seconds.
const restTime = 5 * time.Second

// rest stops the workers and waits for them. They release their runs. A worker inside a tool
// or hook that ignores its context is abandoned, and the next start releases its claim.
func (h *localHost) rest() {
	if h.stop != nil {
		h.rested.Do(h.endWorkers)
	}
}

func (h *localHost) endWorkers() {
	h.stop()
	ended := make(chan struct{})
	go func() {
		h.wait.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(restTime):
		h.log.Error("host ends while a tool or hook still runs; its run continues at the next start")
	}
}

// shutDown stops the workers and closes the store.
func (h *localHost) shutDown() {
	h.rest()
	if h.file == nil {
		return
	}
	if err := h.file.Close(); err != nil {
		h.log.Error("data file not closed", "error", err)
	}
}
