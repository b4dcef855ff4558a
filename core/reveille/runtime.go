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
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/store"
)

// Runtime runs the agents of a program on behalf of one identity, see [Runtime.As]. It is safe
// for concurrent use.
type Runtime struct {
	host     *host.Host
	identity Identity
}

// Options configures the storage and the work of a [Runtime]. Each zero value has a default.
type Options struct {
	// Store keeps the threads; nil: memory, until the program ends.
	Store store.Backend
	// Queue receives the wake-ups of threads that have work, for workers in other
	// processes. nil: a queue within this process, which [Runtime.Work] and every call that
	// waits for a run process.
	Queue mailbox.Waker
	// Workers is the number of runs whose steps Work takes concurrently; 0: 16.
	Workers int
	// Lease is how long a run is reserved for a process that does not renew it. After that time
	// another process continues the run of a process that died; 0: 30 s.
	Lease time.Duration
	// Logger receives warnings and errors, and one line for each run that has ended. nil:
	// [slog.Default], which without a Queue receives only warnings and errors.
	Logger *slog.Logger
}

// New returns a runtime of the parts. It resolves every agent, so that a missing or wrong part
// is an error of New, which names the agent and the field. Agents have a tool for each of their
// delegates, see core/plugins/delegate. Nil options keep everything in memory.
//
// The runtime's tenant is "local" and it has no user, unless [Runtime.As] sets another
// identity.
func New(parts Parts, o *Options) (*Runtime, error) {
	if o == nil {
		o = &Options{}
	}
	h, err := host.New(host.Options{
		Env: env.System(), Store: o.Store, Waker: o.Queue, Workers: o.Workers, Lease: o.Lease, Logger: o.Logger, Agents: delegate.In(parts),
	})
	if err != nil {
		return nil, err
	}
	return &Runtime{host: h, identity: Identity{Tenant: host.LocalTenant}}, nil
}

// As returns the same runtime for another identity, which has access to the threads of that
// user and to the threads of that tenant without an owner. An empty tenant is "local".
func (r *Runtime) As(id Identity) *Runtime {
	if id.Tenant == "" {
		id.Tenant = host.LocalTenant
	}
	return &Runtime{host: r.host, identity: id}
}

// Host returns the value that protocol adapters serve.
func (r *Runtime) Host() *host.Host { return r.host }

// Run sends input to an agent, and returns when the run has ended, a person must decide, or it
// waits for a time. While the run waits only for child runs, Run waits too.
//
// The error is nil if the run ended without failing: with its model's answer, by a stop policy
// or a gate, or by a cancel. [Result].Termination tells which. It is also nil if Result.Tickets
// wait for a decision or a time. Otherwise it is one of these:
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
// [EventRunFinish], or with the error that Run would return. A loop that ends early has the
// same effect on the run as a ctx that ends.
func (r *Runtime) Events(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return r.host.EventsOf(ctx, r.submission(in))
}

// Submit queues input and returns once it is stored. [Runtime.Work], or a call that waits for
// the run, takes the steps.
func (r *Runtime) Submit(ctx context.Context, in Input) (Receipt, error) {
	return r.host.Submit(ctx, r.submission(in))
}

// Wait waits for a run that any caller has started, and returns as [Runtime.Run] does.
func (r *Runtime) Wait(ctx context.Context, run ID) (Result, error) {
	got, err := r.host.Await(ctx, r.identity, run)
	return resultOf(got), err
}

// Follow yields the events of a run from its first to its last, or to the event with which it
// starts to wait for a person.
func (r *Runtime) Follow(ctx context.Context, run ID) iter.Seq2[Event, error] {
	return feed.Iterate(ctx, env.System(), func(ctx context.Context, emit func(core.Event) error) error {
		return r.host.Follow(ctx, r.identity, run, host.ListenerFunc(emit))
	})
}

// Decide decides tickets of a run that waits. The run continues when enough tickets are
// decided, see [Runtime.Wait]. Decide applies the decisions in order and returns the error of
// the first that is refused. Those before it count, and are duplicates when all are sent again.
// A ticket that was decided otherwise has code decided.
func (r *Runtime) Decide(ctx context.Context, run ID, decisions ...Decision) error {
	for _, d := range decisions {
		if _, err := r.host.Decide(ctx, r.identity, run, d.deciding()); err != nil {
			return err
		}
	}
	return nil
}

// Cancel ends a run that is queued, running or waiting. It does not change a run that has
// ended.
func (r *Runtime) Cancel(ctx context.Context, run ID) error {
	return r.host.CancelRun(ctx, r.identity, run)
}

// ReadRun returns the current state of a run.
func (r *Runtime) ReadRun(ctx context.Context, run ID) (Run, error) {
	return r.host.ReadRun(ctx, r.identity, run)
}

// Thread returns the current state of a thread.
func (r *Runtime) Thread(ctx context.Context, id string) (Thread, error) {
	return r.host.Thread(ctx, r.identity, id)
}

// Threads yields the threads that match the query, newest activity first. The query's Limit is
// the size of the pages that it reads.
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

// pages yields the elements of all pages, from the cursor at. The zero cursor marks the end of
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

// Work takes the steps of runs that no call waits for, until ctx ends: of submitted runs, of
// delayed runs that are due, and of those that a dead process abandoned. It returns nil when
// its steps are over or released. A runtime in memory may use it as well, so that submitted
// runs start immediately.
func (r *Runtime) Work(ctx context.Context) error { return r.host.Work(ctx) }

// Answer is [Runtime.Run] for an answer that a program reads: the model must answer with a T, a
// struct, and receives its JSON Schema. The run does not end before an answer fits: each error
// of an answer is sent back to the model, up to the agent's MaxRepairs. If T has a method
// Check() error, its error is sent back in the same way.
//
// A nil error means a T. A run that ends or waits without one is a [*RunError]; it unwraps to
// the last error of Check, if there was one.
func Answer[T any](ctx context.Context, r *Runtime, in Input) (T, Result, error) {
	value, got, err := typed.Run[T](ctx, r.host, r.submission(in))
	return value, resultOf(got), err
}
