package doctor

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Options are what is examined, and how. Env and Store are required.
type Options struct {
	Env   *env.Env
	Store store.Backend
	// Threads lists the threads that were active since a time in unix milliseconds, 0: all
	// of them. It may list more. nil: only threads that are due are examined.
	Threads func(ctx context.Context, since int64) iter.Seq2[core.ThreadKey, error]
	// All examines all threads, and reads their logs.
	All bool
	// Stopped means that no worker runs on purpose, as on the file of a stopped host, so
	// that late threads are a warning.
	Stopped bool
	// Late is how late a thread may be; 0: 5 minutes. A sweep runs each minute, and wakes
	// again what it finds.
	Late time.Duration
	// Window is the time before now for which ends of runs are reported; 0: 24 hours.
	Window time.Duration
	// Schemas are those of the deployed program; the zero value: those of this release.
	Schemas store.Schemas
	// Limits are those of the tenants; the zero value: no limit, or unknown ones.
	Limits account.Tenants
}

const (
	defaultLate   = 5 * time.Minute
	defaultWindow = 24 * time.Hour
)

// Examine runs every check, and returns a line for each, in the same order each time. A
// store that fails in the middle is a line of the check "store", and the other lines are of
// what was read. An error is that of ctx, or has code invalid for missing options.
func Examine(ctx context.Context, o Options) ([]Line, error) {
	if o.Env == nil || o.Store == nil {
		return nil, core.Errorf(core.CodeInvalid, "doctor: Env and Store are required")
	}
	if o.Late == 0 {
		o.Late = defaultLate
	}
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	o.Schemas = o.Schemas.Resolved()
	now := o.Env.Millis()
	e := &examination{
		o: o, records: thread.Records{Schemas: o.Schemas}, now: now, since: now - o.Window.Milliseconds(),
		pins: map[string]bool{}, schemas: map[uint16]int{}, codes: map[string]int{}, busy: map[string]int{},
	}
	e.threads(ctx)
	e.quarantined(ctx)
	e.tenants(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return e.lines(), nil
}

// examination is one call of Examine: what it reads with, and what it has found.
type examination struct {
	o          Options
	records    thread.Records
	now, since int64 // unix milliseconds

	read    int             // threads
	pins    map[string]bool // whether the snapshot of a hash is stored
	schemas map[uint16]int  // threads by the highest schema of their records
	codes   map[string]int  // ends with an error by its code, except dead letters
	busy    map[string]int  // threads with work by tenant
	ended   int             // runs that were the last of their thread, and ended within the window
	latest  int64           // by how much the first thread is late, in milliseconds
	newest  int64           // time of the newest write of a head, in unix milliseconds

	failed                                                 []error // of the store
	overdue, dead, ends, retrying, suspects                found
	damaged, aside, logs, newer, near, unpinned, overLimit found
}

// pageSize is how many threads are read at the same time.
const pageSize = 32

// threads reads the threads page by page: those that are due, then the active ones.
func (e *examination) threads(ctx context.Context) {
	due := map[core.ThreadKey]bool{}
	var page []subject
	flush := func() {
		e.readPage(ctx, page)
		page = page[:0]
	}
	add := func(key core.ThreadKey, at int64) {
		if page = append(page, subject{key: key, due: at}); len(page) == pageSize {
			flush()
		}
	}
	for o, err := range e.due(ctx) {
		if err != nil {
			e.failed = append(e.failed, err)
			break
		}
		due[o.Key] = true
		add(o.Key, o.At)
	}
	if e.o.Threads != nil {
		since := e.since
		if e.o.All {
			since = 0
		}
		for key, err := range e.o.Threads(ctx, since) {
			if err != nil {
				e.failed = append(e.failed, err)
				break
			}
			if !due[key] {
				add(key, 0)
			}
		}
	}
	flush()
}

// due goes through the threads that are due, now or later. An error is the last that it
// yields.
func (e *examination) due(ctx context.Context) iter.Seq2[store.Overdue, error] {
	return func(yield func(store.Overdue, error) bool) {
		const limit = 100
		for shard := range store.Shards {
			var after *store.Overdue
			for {
				list, err := e.o.Store.Overdue(ctx, shard, math.MaxInt64, after, limit)
				if err != nil {
					yield(store.Overdue{}, err)
					return
				}
				for _, o := range list {
					if !yield(o, nil) {
						return
					}
				}
				if len(list) < limit {
					break
				}
				after = &list[len(list)-1]
			}
		}
	}
}
