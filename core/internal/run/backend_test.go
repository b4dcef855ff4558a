package run_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// backend is the stepper's way to its store, which counts what is read and lets a
// test spoil it.
type backend struct {
	*storetest.Faulty
	mu      sync.Mutex
	keys    []core.ThreadKey        // of its commits
	written int                     // bytes of the records and heads that Put and Commit were given
	reads   int                     // records that Get, Log, LogBackwards and Records returned; a Get counts always
	read    func(what string) error // is asked before each of these
	takes   time.Duration           // how long each of them takes
	spoiled []string                // names of records that cannot be read any more
	dead    atomic.Bool             // the process has died: nothing of it reaches the store any more
	died    func()                  // is called by a tool just before its process dies
}

var errDead = fmt.Errorf("the process is gone: %w", context.Canceled)

func newBackend() *backend {
	b := &backend{Faulty: &storetest.Faulty{Backend: memory.New()}}
	b.Around, b.OnRecord = b.around, b.found
	return b
}

func (b *backend) around(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
	var err error
	switch op.Method {
	case "Commit", "Put":
		if b.dead.Load() {
			return errDead
		}
		b.weigh(op)
		b.note(op.Key)
	case "Get":
		b.count(1)
		err = b.mayRead(op.Name)
	case "Records":
		err = b.mayRead(op.Name)
	case "Log":
		err = b.mayRead("log")
	case "LogBackwards":
		err = b.mayRead("log backwards")
	}
	if err != nil {
		return err
	}
	return do(ctx)
}

func (b *backend) note(key core.ThreadKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.keys, key) {
		b.keys = append(b.keys, key)
	}
}

func (b *backend) mayRead(what string) error {
	time.Sleep(b.takes)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read == nil {
		return nil
	}
	return b.read(what)
}

func (b *backend) found(op storetest.Operation, r store.Record) store.Record {
	if op.Method != "Get" {
		b.count(1)
	}
	if slices.Contains(b.spoiled, r.Name) {
		r.Payload = []byte("\x00")
	}
	return r
}

func (b *backend) weigh(op storetest.Operation) {
	size := 0
	if op.Method == "Commit" {
		size = len(op.Head.AppendBinary(nil))
	}
	for _, r := range op.Records {
		size += len(r.Name) + len(r.Payload)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += size
}

func (b *backend) count(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads += n
}

// partly stores the records of a commit and not its head, as a backend without
// transactions may when its process dies between the two.
func (b *backend) partly(ctx context.Context, key core.ThreadKey, c store.Commit) error {
	for _, r := range c.Records {
		if err := b.Backend.Put(ctx, key, r); err != nil {
			return err
		}
	}
	return nil
}
