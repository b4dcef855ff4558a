package host_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// mortal is a process's way to the queue, which ends with it.
type mortal struct {
	*mailboxtest.Queue
	way *way
}

func (m mortal) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	if m.way.isDead() {
		return errReset
	}
	return m.Queue.Wake(ctx, hint, delay)
}

// rig is processes on one store and queue, with tools and models that are
// watched.
type rig struct {
	t     testing.TB
	store *watched
	queue *mailboxtest.Queue

	mu         sync.Mutex
	inside     map[core.ThreadKey]int // workers in a tool or model, by thread
	runs       map[string]int         // executions of a call, by its arguments
	inferences int
}

func newRig(t testing.TB) *rig {
	return &rig{
		t: t, queue: &mailboxtest.Queue{}, inside: map[core.ThreadKey]int{}, runs: map[string]int{},
		store: newWatched(t),
	}
}

// quiet keeps the expected warnings out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

// steady is the real world, but every jitter of a limit is the same.
func steady() *env.Env {
	e := env.System()
	e.Random = func(b []byte) {
		if len(b) == 8 { // a jitter; ids take 16
			binary.BigEndian.PutUint64(b, 1<<62)
			return
		}
		_, _ = rand.Read(b)
	}
	return e
}

// process starts a runtime over a backend, the rig's or a faulty way to it.
func (r *rig) process(name string, over store.Backend, change ...func(*host.Options)) *host.Host {
	r.t.Helper()
	e := steady()
	config := host.Options{
		Env: e, Store: over, Waker: r.queue, Worker: name, Logger: quiet,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: counted{scripted.New(e), r}, Name: "scripted"}},
			Tools:  []tool.Tool{r.echo()},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	}
	if way, ok := over.(*way); ok {
		config.Waker = mortal{r.queue, way}
	}
	for _, c := range change {
		c(&config)
	}
	made, err := host.New(config)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) echo() tool.Tool {
	echo := tool.New(tool.Spec{Name: "echo"},
		func(_ context.Context, c tool.Call, a echoArguments) (tool.Result, error) {
			r.mu.Lock()
			r.runs[c.Thread.Thread+" "+a.Text]++
			r.mu.Unlock()
			return tool.NewResult(map[string]string{"text": a.Text}), nil
		})
	return echo
}

func (r *rig) head(key core.ThreadKey) thread.Head {
	r.t.Helper()
	head, err := r.store.Head(context.WithoutCancel(r.t.Context()), key)
	if err != nil {
		r.t.Fatal(err)
	}
	return head
}

// counted is a model that counts its inferences.
type counted struct {
	model.Model
	rig *rig
}

func (m counted) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	m.rig.mu.Lock()
	m.rig.inferences++
	m.rig.mu.Unlock()
	return m.Model.Stream(ctx, request)
}

// exclusive is a model that fails the test when two workers are in it at once
// for one thread, which it knows by the first message.
type exclusive struct {
	model.Model
	rig *rig
}

func (m exclusive) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	key := core.ThreadKey{Thread: request.Messages[0].Text()}
	return func(yield func(model.Delta, error) bool) {
		m.rig.enter(key, 1)
		defer m.rig.enter(key, -1)
		time.Sleep(10 * time.Millisecond)
		m.Model.Stream(ctx, request)(yield)
	}
}

func (r *rig) enter(key core.ThreadKey, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside[key] += by; r.inside[key] > 1 {
		r.t.Errorf("%d workers are inside a model of thread %s", r.inside[key], key)
	}
}

// untilNext is how long the first hint has still to wait, at most a second.
func (r *rig) untilNext() time.Duration {
	at, ok := r.queue.Next()
	if !ok {
		return time.Second
	}
	return min(time.Second, max(time.Until(at), time.Millisecond))
}

// sweepEvery is how often a rig sweeps.
const sweepEvery = time.Minute

// settle delivers hints as they come due, and sweeps every minute, until no
// thread is due any more. A failed delivery comes again after a minute.
func (r *rig) settle(by *host.Host, keys ...core.ThreadKey) {
	r.t.Helper()
	start := time.Now()
	sweep := start.Add(sweepEvery)
	for time.Since(start) < 10*time.Minute {
		for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
			if err := by.WorkLocal(r.t.Context(), hint); err != nil {
				_ = r.queue.Wake(r.t.Context(), hint, time.Minute)
			}
		}
		idle := true
		for _, key := range keys {
			head := r.head(key)
			idle = idle && head.DueAt == 0
		}
		if idle {
			return
		}
		time.Sleep(r.untilNext())
		if !time.Now().Before(sweep) {
			sweep = time.Now().Add(sweepEvery)
			_, _ = by.Sweep(r.t.Context()) // a faulty one finds the rest the next time
		}
	}
	r.t.Fatal("a thread is still due after 10 minutes")
}

// truncated is a model whose stream always breaks off.
type truncated struct{}

func (truncated) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Type: model.DeltaText, Text: "half"}, nil)
	}
}
