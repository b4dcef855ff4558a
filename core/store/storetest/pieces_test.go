package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// pieces is a backend without transactions: a Commit is one write after the
// other, each of which may be the last one of its process. Its fields are the
// mistakes that somebody may make who writes one. It is no Faulty: what goes wrong
// lies inside a Commit, between writes that no other backend has.
type pieces struct {
	store.Backend // of the records and heads

	headFirst     bool // the head is written before what it covers
	recordsFirst  bool // a taken pointer is found after the records are written
	lateLimit     int  // a payload over it is found when its turn comes; 0: there is no limit
	forgetsTaken  bool // a taken pointer is no reason to stop
	forgetsCause  bool // a refused record is no *store.RefusedError
	skipsRefused  bool // a refused record is no reason to leave the head alone
	keepsTheFence bool // equal bytes are not written again under a higher fence
	lostIsError   bool // a refused head is an error
	shares        bool // values are not copied on their way in and out
	strictRepeat  bool // a pointer that exists is taken, whatever its value

	waits int64 // the head is followed by nothing until so many readers looked at it
	looks atomic.Int64

	mu       sync.Mutex
	pointers map[string][]byte
}

func newPieces(m store.Backend) *pieces {
	return &pieces{Backend: m, pointers: map[string][]byte{}}
}

func (p *pieces) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	p.looks.Add(1)
	return p.Backend.Head(ctx, key)
}

type writesLeft struct{}

var errStopped = errors.New("the process has died")

// stop implements storetest.Options.Stop for pieces.
func stop(ctx context.Context, writes int) context.Context {
	left := new(atomic.Int64)
	left.Store(int64(writes))
	return context.WithValue(ctx, writesLeft{}, left)
}

// alive is asked before each write.
func alive(ctx context.Context) error {
	if left, ok := ctx.Value(writesLeft{}).(*atomic.Int64); ok && left.Add(-1) < 0 {
		return errStopped
	}
	return ctx.Err()
}

func (p *pieces) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	if err := errors.Join(ctx.Err(), key.Check()); err != nil {
		return store.Outcome{}, err
	}
	writes := []func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, bool, error){p.putPointers, p.putRecords, p.setHead}
	if p.recordsFirst {
		writes[0], writes[1] = writes[1], writes[0]
	}
	if p.headFirst {
		writes[0], writes[2] = writes[2], writes[0]
	}
	result := store.Outcome{}
	for _, write := range writes {
		got, goOn, err := write(ctx, key, c)
		if err != nil || !goOn {
			return got, err
		}
		if got.Written {
			result = got
		}
	}
	return result, nil
}

func (p *pieces) putPointers(ctx context.Context, key core.ThreadKey, c store.Commit) (out store.Outcome, goOn bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pointer := range c.Pointers {
		if err := alive(ctx); err != nil {
			return store.Outcome{}, false, err
		}
		at := key.Tenant + "/" + pointer.Name
		stored, ok := p.pointers[at]
		if !ok {
			p.pointers[at] = p.own(pointer.Value)
		} else if p.strictRepeat || !bytes.Equal(stored, pointer.Value) {
			out.Taken = append(out.Taken, store.Pointer{Name: pointer.Name, Value: p.own(stored)})
		}
	}
	if p.forgetsTaken {
		out.Taken = nil
	}
	return out, out.Taken == nil, nil
}

func (p *pieces) putRecords(ctx context.Context, key core.ThreadKey, c store.Commit) (out store.Outcome, goOn bool, err error) {
	for _, record := range c.Records {
		if err := alive(ctx); err != nil {
			return out, false, err
		}
		if p.lateLimit > 0 && len(record.Payload) > p.lateLimit {
			return out, false, fmt.Errorf("record %s: %w", record.Name, store.ErrTooLarge)
		}
		if stored, ok, _ := p.Get(ctx, key, record.Name); ok && p.keepsTheFence && bytes.Equal(stored.Payload, record.Payload) {
			continue
		}
		err := p.Put(ctx, key, record)
		var refused *store.RefusedError
		switch {
		case errors.As(err, &refused) && p.skipsRefused:
		case errors.As(err, &refused) && p.forgetsCause:
			return out, false, refused.Cause
		case err != nil:
			return out, false, err
		}
	}
	if c.Usage != nil {
		if err := alive(ctx); err != nil {
			return out, false, err
		}
		usages := p.Backend.(interface {
			PutUsage(tenant string, usage *store.Usage) error
		})
		if err := usages.PutUsage(key.Tenant, c.Usage); err != nil {
			return out, false, err
		}
	}
	return out, true, nil
}

func (p *pieces) setHead(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, bool, error) {
	if err := alive(ctx); err != nil {
		return store.Outcome{}, false, err
	}
	out, err := p.Backend.Commit(ctx, key, store.Commit{Head: c.Head})
	for before := p.looks.Load(); p.waits > 0 && p.looks.Load() < before+p.waits && ctx.Err() == nil; {
		runtime.Gosched()
	}
	if err == nil && !out.Written && p.lostIsError {
		err = store.ErrConflict
	}
	return out, out.Written, err
}

func (p *pieces) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	if err := errors.Join(ctx.Err(), core.CheckName("tenant", tenant)); err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	value, ok := p.pointers[tenant+"/"+name]
	return p.own(value), ok, nil
}

// own is a copy of a value that comes or goes.
func (p *pieces) own(value []byte) []byte {
	if p.shares {
		return value
	}
	return bytes.Clone(value)
}

// commitFaults are the mistakes of pieces.
var commitFaults = []fault{
	broken("head before its records", "WhatAHeadCoversIsThere", "a head must be written after what it covers", func(p *pieces) { p.headFirst, p.waits = true, 4 }), // 3 readers: one looks twice
	broken("head before its records, stopped", "AStoppedCommitIsNeverHalfVisible", "Head(storetest.", func(p *pieces) { p.headFirst = true }),
	broken("records before pointers", "TakenPointersStopACommit", "which was never put", func(p *pieces) { p.recordsFirst = true }),
	broken("records before pointers, stopped", "AStoppedCommitIsNeverHalfVisible", "one of which may be taken", func(p *pieces) { p.recordsFirst = true }),
	broken("taken pointers are forgotten", "TakenPointersStopACommit", "want Taken alone and no error", func(p *pieces) { p.forgetsTaken = true }),
	broken("racing pointers all win", "OneOfRacingPointersWins", "want one written", func(p *pieces) { p.forgetsTaken = true }),
	broken("refusals have no name", "ARefusedRecordIsNamed", "want a *store.RefusedError with the name", func(p *pieces) { p.forgetsCause = true }),
	broken("refused records are skipped", "PutOfALogRecord", "a refused record must leave the head as it was", func(p *pieces) { p.skipsRefused = true }),
	broken("adoption keeps the old fence", "AnAdoptedRecordTakesTheFence", "fence=3", func(p *pieces) { p.keepsTheFence = true }),
	broken("a refused head is an error", "ARepeatedCommitMeetsItself", "the same Commit again: ", func(p *pieces) { p.lostIsError = true }),
	broken("a pointer meets itself", "AStoppedCommitIsRepeated", "nothing is taken or refused", func(p *pieces) { p.strictRepeat = true }),
	broken("a writer's buffer is kept", "WhatAWriterChangesLaterIsNotStored", `returns "XXXXX"`, func(p *pieces) { p.shares = true }),
	broken("a reader gets what is stored", "WhatAReaderChangesIsItsOwn", `returns "XXXXX"`, func(p *pieces) { p.shares = true }),
	broken("limit is found on the way", "CommitTakesNoMoreThanTheLimit", "it was never put", func(p *pieces) { p.lateLimit = 300 << 10 }),
}

func broken(name, clause, text string, mistake func(p *pieces)) fault {
	return fault{
		name: name, clause: clause, text: text,
		options: storetest.Options{Stop: stop, MaxPayload: 300 << 10},
		backend: func(m store.Backend) store.Backend {
			p := newPieces(m)
			mistake(p)
			return p
		},
	}
}
