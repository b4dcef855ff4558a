package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// fault is what happens at one operation of a store.
type fault struct {
	name    string
	applied bool  // the operation is carried out all the same
	err     error // what the caller is told
	crash   bool  // nothing that the process does afterwards is carried out
}

var errReset = errors.New("connection reset by peer")

var faults = []fault{
	{name: "error before", err: errReset},
	{name: "error after", applied: true, err: errReset},
	{name: "throttled", err: store.ErrThrottled},
	{name: "crash before", crash: true, err: errReset},
	{name: "crash after", crash: true, applied: true, err: errReset},
}

// faulty is a process's way to a store: operation at fails.
type faulty struct {
	store.Backend
	fault fault
	at    int    // 0: never
	act   func() // instead of a fault: what somebody else does just before

	mu    sync.Mutex
	count int
	dead  bool
}

func (f *faulty) do(operation func() error) error {
	f.mu.Lock()
	f.count++
	hit, dead := f.count == f.at, f.dead
	f.dead = f.dead || hit && f.fault.crash
	f.mu.Unlock()
	switch {
	case dead:
		return errReset
	case hit && f.act != nil:
		f.act()
		return operation()
	case hit && !f.fault.applied:
		return f.fault.err
	}
	err := operation()
	if hit {
		return f.fault.err
	}
	return err
}

func (f *faulty) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *faulty) reached() bool { return f.at != 0 && f.count >= f.at }

func (f *faulty) Head(ctx context.Context, key core.ThreadKey) (h thread.Head, err error) {
	err = f.do(func() (err error) { h, err = f.Backend.Head(ctx, key); return err })
	return h, err
}

func (f *faulty) CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (stored thread.Head, ok bool, err error) {
	err = f.do(func() (err error) { stored, ok, err = f.Backend.CompareAndSet(ctx, key, next); return err })
	return stored, ok && err == nil, err
}

func (f *faulty) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	return f.do(func() error { return f.Backend.Put(ctx, key, r) })
}

func (f *faulty) Get(ctx context.Context, key core.ThreadKey, name string) (r store.Record, ok bool, err error) {
	err = f.do(func() (err error) { r, ok, err = f.Backend.Get(ctx, key, name); return err })
	return r, ok, err
}

func (f *faulty) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	if err := f.do(func() error { return nil }); err != nil {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, err) }
	}
	return f.Backend.Log(ctx, key, from, to)
}

func (f *faulty) PutPointer(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) (stored []byte, err error) {
	err = f.do(func() (err error) { stored, err = f.Backend.PutPointer(ctx, tenant, name, value, ttl); return err })
	return stored, err
}

func (f *faulty) Overdue(ctx context.Context, shard int, until int64, limit int) (keys []core.ThreadKey, err error) {
	err = f.do(func() (err error) { keys, err = f.Backend.Overdue(ctx, shard, until, limit); return err })
	return keys, err
}

// watched is a store that checks every transition of a head.
type watched struct {
	store.Backend
	t    testing.TB
	mu   sync.Mutex
	last map[core.ThreadKey]thread.Head
	logs map[core.ThreadKey][][]byte // committed payloads, from sequence 1
}

func (w *watched) CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stored, ok, err := w.Backend.CompareAndSet(ctx, key, next)
	if err != nil || !ok {
		return stored, ok, err
	}
	was := w.last[key]
	if next.Version != was.Version+1 || next.Fence < was.Fence || next.Epoch < was.Epoch || next.Seq < was.Seq {
		w.t.Errorf("head went from %+v to %+v", was, next)
	}
	w.last[key] = next
	seq := uint64(0)
	for record, err := range w.Backend.Log(ctx, key, 1, next.Seq) {
		seq++
		if err != nil || record.Name != store.LogName(seq) {
			w.t.Errorf("log has %s at %d: %v", record.Name, seq, err)
		}
		if known := w.logs[key]; uint64(len(known)) < seq {
			w.logs[key] = append(known, record.Payload)
		} else if !bytes.Equal(known[seq-1], record.Payload) {
			w.t.Errorf("committed record %d changed from %s to %s", seq, known[seq-1], record.Payload)
		}
	}
	if seq != next.Seq {
		w.t.Errorf("log ends at %d, the head says %d", seq, next.Seq)
	}
	return stored, ok, err
}

// queue keeps hints until they are due.
type queue struct {
	mu    sync.Mutex
	items []item
	lost  bool // every hint is dropped
}

type item struct {
	hint core.WakeUp
	at   time.Time
}

func (q *queue) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.lost {
		q.items = append(q.items, item{hint, time.Now().Add(delay)})
	}
	return nil
}

// take answers a hint that is due.
func (q *queue) take() (core.WakeUp, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, it := range q.items {
		if !it.at.After(time.Now()) {
			q.items = append(q.items[:i:i], q.items[i+1:]...)
			return it.hint, true
		}
	}
	return core.WakeUp{}, false
}

// rig is processes on one store and queue, with tools and models that are
// watched.
type rig struct {
	t     testing.TB
	store *watched
	queue *queue

	mu     sync.Mutex
	inside map[core.ThreadKey]int // workers in a tool or model, by thread
	runs   map[string]int         // executions of a call, by its arguments
}

func newRig(t testing.TB) *rig {
	return &rig{
		t: t, queue: &queue{}, inside: map[core.ThreadKey]int{}, runs: map[string]int{},
		store: &watched{Backend: memory.New(), t: t, last: map[core.ThreadKey]thread.Head{}, logs: map[core.ThreadKey][][]byte{}},
	}
}

// quiet keeps the expected warnings out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

// process starts a runtime over a backend, the rig's or a faulty way to it.
func (r *rig) process(name string, over store.Backend, change ...func(*runtime.Config)) *runtime.Runtime {
	r.t.Helper()
	e := env.System()
	config := runtime.Config{
		Env: e, Store: over, Waker: r.queue, Worker: name, Logger: quiet,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(e), Name: "scripted"}},
			Tools:  []tool.Tool{r.echo()},
			Specs:  []agent.Spec{{ID: "demo", Model: "m"}},
		},
	}
	for _, c := range change {
		c(&config)
	}
	made, err := runtime.Build(config)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) echo() tool.Tool {
	echo, err := tool.Typed(tool.Spec{Name: "echo"},
		func(_ context.Context, c tool.Call, a echoArguments) (tool.Result, error) {
			r.mu.Lock()
			r.runs[c.Thread.Thread+" "+a.Text]++
			r.mu.Unlock()
			return tool.JSON(map[string]string{"text": a.Text})
		})
	if err != nil {
		r.t.Fatal(err)
	}
	return echo
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

// settle delivers and sweeps until no thread is due any more. A failed delivery
// comes again.
func (r *rig) settle(by *runtime.Runtime, keys ...core.ThreadKey) {
	r.t.Helper()
	for range 40 {
		for hint, ok := r.queue.take(); ok; hint, ok = r.queue.take() {
			if err := by.Work(r.t.Context(), hint); err != nil {
				_ = r.queue.Wake(r.t.Context(), hint, time.Minute)
			}
		}
		idle := true
		for _, key := range keys {
			head, err := r.store.Head(r.t.Context(), key)
			if err != nil {
				r.t.Fatal(err)
			}
			idle = idle && head.DueAt == 0
		}
		if idle {
			return
		}
		time.Sleep(10 * time.Second)
		_, _ = by.Sweep(r.t.Context()) // a faulty one finds the rest the next time
	}
	r.t.Fatal("a thread is still due after 400 s")
}

// truncated is a model whose stream always breaks off.
type truncated struct{}

func (truncated) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Type: model.DeltaText, Text: "half"}, nil)
	}
}

// hooked is a store whose puts a test replaces.
type hooked struct {
	store.Backend
	put func(ctx context.Context, key core.ThreadKey, r store.Record) error
}

func (h *hooked) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	return h.put(ctx, key, r)
}
