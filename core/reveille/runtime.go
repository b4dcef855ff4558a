package reveille

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/feed"
	"github.com/reveille-run/reveille/core/internal/typed"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// Runtime runs the agents of a program on behalf of one identity, see [Runtime.As]. It is
// safe for concurrent use.
type Runtime struct {
	host     *host.Host
	identity Identity
}

// Options says where a [Runtime] keeps its threads and how it works. Each zero value has a
// default.
type Options struct {
	// Store keeps the threads; nil: memory, until the program ends.
	Store store.Backend
	// Queue receives the wake-ups of threads that have work, for workers elsewhere; nil: a
	// queue within this process, which [Runtime.Work] and every call that waits for a run
	// work off.
	Queue mailbox.Waker
	// Workers is how many runs Work takes steps of at the same time; 0: 16.
	Workers int
	// Lease is how long a run is reserved for a process that does not renew it, hence after
	// what time another process continues the run of one that has died; 0: 30 s.
	Lease time.Duration
	// Logger receives warnings and errors, and one line for each run that has ended; nil:
	// [slog.Default], which without a Queue receives warnings and errors alone.
	Logger *slog.Logger
}

// New returns a runtime of the parts. It resolves every agent, so that whatever is missing or
// wrong in the parts is an error here, which names the agent and the field. Nil options keep
// everything in memory.
//
// Its tenant is "local" and its user none, until [Runtime.As] says otherwise.
func New(parts Parts, o *Options) (*Runtime, error) {
	if o == nil {
		o = &Options{}
	}
	h, err := host.New(host.Options{
		Env: env.System(), Store: o.Store, Waker: o.Queue, Workers: o.Workers, Lease: o.Lease, Logger: o.Logger, Agents: parts,
	})
	if err != nil {
		return nil, err
	}
	return &Runtime{host: h, identity: Identity{Tenant: host.LocalTenant}}, nil
}

// As returns the same runtime for another identity: it sees the threads of that user, and
// those of that tenant that no user owns. An empty tenant is "local".
func (r *Runtime) As(id Identity) *Runtime {
	if id.Tenant == "" {
		id.Tenant = host.LocalTenant
	}
	return &Runtime{host: r.host, identity: id}
}

// Host returns what protocol adapters serve.
func (r *Runtime) Host() *host.Host { return r.host }

// Run says something to an agent, and returns when the run has ended or a person must
// decide. While the run waits for child runs alone, Run waits too.
//
// The error is nil for a run that ended without failing: with its model's answer, by a stop
// policy or a gate, or by a cancel; [Result].Termination tells which. It is also nil if
// Result.Tickets wait for a decision. Otherwise it is one of these:
//
//   - A run that failed is a [*RunError]; the result has what the run has stored.
//   - A refused input has code invalid or not_found, and no run.
//   - When ctx ends, the error is its cause. In memory, where nothing would continue the
//     run, the run is then cancelled. With a Store it continues: in Work, in a call that
//     waits for it, or in another process.
func (r *Runtime) Run(ctx context.Context, in Input) (Result, error) {
	got, err := r.host.Play(ctx, r.submission(in), nil, nil)
	return resultOf(got), err
}

// Events is [Runtime.Run], and yields the events of the run as they happen. It ends after
// [EventRunFinish], or with the error that Run would return. A loop that ends early leaves
// the run as a ctx that ends does.
func (r *Runtime) Events(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return r.host.EventsOf(ctx, r.submission(in))
}

// Submit queues input and returns once it is stored. The steps of its run are taken by
// [Runtime.Work], or by a call that waits for the run.
func (r *Runtime) Submit(ctx context.Context, in Input) (Receipt, error) {
	return r.host.Submit(ctx, r.submission(in))
}

// Wait waits for a run that anybody has started, and returns as [Runtime.Run] does.
func (r *Runtime) Wait(ctx context.Context, run ID) (Result, error) {
	got, err := r.host.Await(ctx, r.identity, run)
	return resultOf(got), err
}

// Follow yields the events of a run from its first to its last, or to the one with which it
// starts to wait for a person.
func (r *Runtime) Follow(ctx context.Context, run ID) iter.Seq2[Event, error] {
	return feed.Iterate(ctx, env.System(), func(ctx context.Context, emit func(core.Event) error) error {
		return r.host.Follow(ctx, r.identity, run, host.ListenerFunc(emit))
	})
}

// Decide decides tickets of a run that waits; the run continues when enough are decided, see
// [Runtime.Wait]. The decisions are taken in order. The first that is refused is the error:
// those before it count, and are taken as duplicates when all are sent again. A ticket that
// was decided otherwise has code decided.
func (r *Runtime) Decide(ctx context.Context, run ID, decisions ...Decision) error {
	for _, d := range decisions {
		if _, err := r.host.Decide(ctx, r.identity, run, d.deciding()); err != nil {
			return err
		}
	}
	return nil
}

// Cancel ends a run that is queued, running or waiting. A run that has ended is not changed.
func (r *Runtime) Cancel(ctx context.Context, run ID) error {
	return r.host.CancelRun(ctx, r.identity, run)
}

// ReadRun returns a run as it stands.
func (r *Runtime) ReadRun(ctx context.Context, run ID) (Run, error) {
	return r.host.ReadRun(ctx, r.identity, run)
}

// Thread returns a thread as it stands.
func (r *Runtime) Thread(ctx context.Context, id string) (Thread, error) {
	return r.host.Thread(ctx, r.identity, id)
}

// Threads yields the threads that match the query, newest activity first. The query's Limit
// is the size of the pages in which they are read.
func (r *Runtime) Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Thread, error] {
	return pages(q.After, func(after string) ([]Thread, string, error) {
		q.After = after
		page, err := r.host.Threads(ctx, r.identity, q)
		return page.Items, page.Next, err
	})
}

// Messages yields the messages of a thread, oldest first.
func (r *Runtime) Messages(ctx context.Context, thread string) iter.Seq2[Message, error] {
	return pages(0, func(after uint64) ([]Message, uint64, error) {
		page, err := r.host.Messages(ctx, r.identity, thread, host.MessageQuery{After: after})
		return page.Messages, page.Next, err
	})
}

// Approvals yields the calls that wait for a decision, longest waiting first.
func (r *Runtime) Approvals(ctx context.Context) iter.Seq2[Approval, error] {
	return pages("", func(after string) ([]Approval, string, error) {
		page, err := r.host.Approvals(ctx, r.identity, host.ApprovalQuery{After: after})
		return page.Items, page.Next, err
	})
}

// pages yields the elements of all pages, from the cursor at. The zero cursor is behind
// the last page.
func pages[Element any, Cursor comparable](at Cursor, read func(Cursor) ([]Element, Cursor, error)) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		for {
			page, next, err := read(at)
			if err != nil {
				var none Element
				yield(none, err)
				return
			}
			for _, element := range page {
				if !yield(element, nil) {
					return
				}
			}
			if next == *new(Cursor) {
				return
			}
			at = next
		}
	}
}

// DeleteThread deletes a thread with all that it holds, and cancels its runs. Threads of
// child runs stay.
func (r *Runtime) DeleteThread(ctx context.Context, id string) error {
	return r.host.DeleteThread(ctx, r.identity, id, mailbox.ChildrenDetach)
}

// Work takes the steps of runs that nothing waits for, until ctx ends: of submitted runs, of
// those whose time has come, and of those that a process which died has left. It returns nil
// when its steps are over or given back. A runtime in memory may use it as well, so that
// submitted runs begin at once.
func (r *Runtime) Work(ctx context.Context) error { return r.host.Work(ctx) }

// Answer is [Runtime.Run] for an answer that a program reads: the model must answer with a T,
// a struct, whose JSON Schema it is sent. The run does not end before an answer fits: what is
// wrong with one goes back to the model, as often as the agent's MaxRepairs says. If T has a
// method Check() error, its error goes back in the same way.
//
// A nil error means a T. A run that ends or waits without one is a [*RunError]; it unwraps to
// the last error of Check, if there was one.
func Answer[T any](ctx context.Context, r *Runtime, in Input) (T, Result, error) {
	value, got, err := typed.Run[T](ctx, r.host, r.submission(in))
	return value, resultOf(got), err
}
