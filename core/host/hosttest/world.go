package hosttest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
)

// theThread is the one that everything happens on.
var theThread = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// longestDelay is how long the queue can hold a message back.
const longestDelay = 15 * time.Minute

// world is a store, a queue and a clock that programs of several releases share,
// one at a time.
type world struct {
	t        *testing.T
	store    store.Backend
	runtimes map[string]*host.Host

	queue mailboxtest.Queue

	mu     sync.Mutex // guards what follows
	clock  time.Time
	ending map[*context.CancelCauseFunc]time.Time // the contexts that end by the clock
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{t: t, runtimes: map[string]*host.Host{}, ending: map[*context.CancelCauseFunc]time.Time{}, clock: env.System().Now()}
	w.queue.Now, w.queue.Longest = w.now, longestDelay
	w.store = o.Open(t, w.now)
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

// advance moves the clock.
func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
	for end, at := range w.ending {
		if !w.clock.Before(at) {
			(*end)(context.DeadlineExceeded)
		}
	}
}

// deadline returns a child of ctx that ends when the clock of the test is moved to at. A
// deadline of the machine's time would end calls to a slow backend while that clock is not
// moved.
func (w *world) deadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	within, end := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.clock.Before(at) {
		end(context.DeadlineExceeded)
	}
	w.ending[&end] = at
	return within, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.ending, &end)
		end(nil)
	}
}

// receive returns the next message that comes within a minute, and moves the
// clock there.
func (w *world) receive() (hint core.WakeUp, ok bool) {
	at, ok := w.queue.Next()
	if wait := at.Sub(w.now()); !ok || wait > time.Minute {
		return hint, false
	} else if wait > 0 {
		w.advance(wait)
	}
	return w.queue.Receive()
}

// workOnce lets a release work on the next message, or sweep when none comes within
// a minute.
func (w *world) workOnce(r release) {
	w.t.Helper()
	w.advance(time.Second)
	program := w.program(r)
	hint, ok := w.receive()
	if !ok {
		w.advance(time.Minute)
		if _, err := program.Sweep(w.t.Context()); err != nil {
			w.t.Fatalf("%s sweeps: %v", r.name, err)
		}
		return
	}
	if err := program.WorkBatch(w.t.Context(), []core.WakeUp{hint})[0]; err != nil {
		w.t.Fatalf("%s works on %+v: %v", r.name, hint, err)
	}
}

// program is the release's runtime: one process, which has the thread in its
// memory from its last step.
func (w *world) program(r release) *host.Host {
	w.t.Helper()
	if program := w.runtimes[r.name]; program != nil {
		return program
	}
	program := w.build(r, parts(w.t))
	w.runtimes[r.name] = program
	return program
}

// build starts a process.
func (w *world) build(r release, agents agent.Parts) *host.Host {
	w.t.Helper()
	e := env.System()
	e.Now, e.Deadline = w.now, w.deadline
	program, err := host.New(host.Options{
		Env: e, Store: w.store, Waker: &w.queue, Records: r.records, Worker: r.name, Agents: agents,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return program
}

// submit sends a text through a release, which must accept it independent of the schema
// that it can read.
func (w *world) submit(r release, text string, mode mailbox.Mode) mailbox.Receipt {
	w.t.Helper()
	receipt, err := w.program(r).Submit(w.t.Context(), mailbox.Submission{
		Thread: theThread, Opening: mailbox.Opening{AgentID: "counter"}, Mode: mode, Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		w.t.Fatalf("%s submits %q: %v", r.name, text, err)
	}
	return receipt
}

func (w *world) head() thread.Head {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), theThread)
	if err != nil {
		w.t.Fatal(err)
	}
	return head
}

// contents is everything that is stored of the thread.
func (w *world) contents() []string {
	w.t.Helper()
	head := w.head()
	list := []string{string(head.AppendBinary(nil))}
	for after := ""; ; {
		page, err := w.store.Records(w.t.Context(), theThread, "", after, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range page {
			list = append(list, fmt.Sprintf("%s %d %d %s", r.Name, r.Fence, r.Version, r.Payload))
		}
		if len(page) < 100 {
			return list
		}
		after = page[len(page)-1].Name
	}
}
