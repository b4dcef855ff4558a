package compaction

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/store"
)

// Heads reads the heads of threads.
type Heads interface {
	Head(ctx context.Context, key core.ThreadKey) (thread.Head, error)
}

// Agents resolves the agent of a run, see run.Agents.
type Agents interface {
	Resolve(ctx context.Context, id, pin string) (*registry.Resolved, error)
}

// Store is what a [Maker] reads and writes.
type Store interface {
	threadlog.Log
	Get(ctx context.Context, key core.ThreadKey, name string) (record store.Record, ok bool, err error)
	Put(ctx context.Context, key core.ThreadKey, record store.Record) error
}

// Options configures a [Maker]. All are required.
type Options struct {
	Env      *env.Env
	Store    Store
	Records  thread.Records // the schemas that the program reads and writes
	Heads    Heads
	Agents   Agents
	Reader   *checkpoint.Reader
	Circuits *inference.Circuits
	Books    *accounting.Books // the zero Books limit and record nothing
	Log      *slog.Logger
}

// Maker makes summaries. It is safe for concurrent use.
type Maker struct{ o Options }

// New returns a Maker.
func New(o Options) *Maker { return &Maker{o} }

// The compaction of an agent without agent.CompactInline, in the words of a
// policy's defaults.
const (
	Off        agent.Compaction = "off"        // it does not
	Background agent.Compaction = "background" // another process does, or the same concurrently with the run
)

// ModeOf is how an agent compacts.
func ModeOf(a *registry.Resolved) agent.Compaction {
	if a.Spec.Context == nil {
		return Off
	}
	return a.Spec.Context.WithDefaults().Compaction
}

// Compact makes the summary that a thread's newest turn asks for. If none is
// requested, or it exists already, Compact does nothing: hints may be late, doubled
// or forged. It holds no claim. A summary that fails is a line in the log. The
// error is the store's, or the end of the context, and the hint is worth a retry.
func (m *Maker) Compact(ctx context.Context, key core.ThreadKey) error {
	head, err := m.o.Heads.Head(ctx, key)
	if err != nil {
		return fmt.Errorf("compact %s: %w", key, err)
	}
	if !head.Exists() || head.Deleted || head.Seq == 0 {
		return nil
	}
	ctx = core.WithIdentity(ctx, core.Identity{Tenant: key.Tenant, User: head.Owner})
	j := &job{m: m, key: key, incarnation: head.Incarnation}
	if err := j.find(ctx, &head); err != nil || j.upTo == 0 {
		return j.outcome(ctx, err)
	}
	if ok, err := j.resolve(ctx); err != nil || !ok {
		return j.outcome(ctx, err)
	}
	history, err := j.read(ctx)
	if err != nil {
		return j.outcome(ctx, err)
	}
	made, err := j.summarize(ctx, history)
	if err != nil || made == nil {
		return j.outcome(ctx, err)
	}
	_, err = j.put(ctx, made)
	return j.outcome(ctx, err)
}

// Target is what a step wants to be summarised.
type Target struct {
	Key         core.ThreadKey
	Incarnation uint64 // of the thread, as its head has it
	Run         core.ID
	UpTo        uint64              // sequence of the last message
	Before      *checkpoint.Summary // the one in force, after which it begins; nil: none is
	Agent       *registry.Resolved
	Model       *registry.BoundModel // that is called
}

// Inline makes a summary of the messages up to the target, within a step, and puts
// it; nil: no summary, for a reason that may pass and that is logged. The returned
// one may be another's, or have a reason in place of a text.
func (m *Maker) Inline(ctx context.Context, to Target, said window.History) (*checkpoint.Summary, error) {
	j := &job{m: m, key: to.Key, incarnation: to.Incarnation, run: to.Run, upTo: to.UpTo, before: to.Before, agent: to.Agent, model: to.Model}
	made, err := j.summarize(ctx, said)
	if err != nil || made == nil {
		return nil, err
	}
	return j.put(ctx, made)
}
