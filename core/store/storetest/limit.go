package storetest

import (
	"cmp"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var limitClauses = []clause{
	{"PutTakesNoMoreThanTheLimit", putTakesNoMoreThanTheLimit},
	{"CommitTakesNoMoreThanTheLimit", commitTakesNoMoreThanTheLimit},
	{"PointersTakeNoMoreThanTheLimit", pointersTakeNoMoreThanTheLimit},
}

// limit returns Options.MaxPayload, or skips the clause.
func (p *probe) limit() int {
	p.t.Helper()
	if p.options.MaxPayload == 0 {
		p.t.Skip("Options.MaxPayload is not set: the backend has no limit to test")
	}
	return p.options.MaxPayload
}

// recordLimit is limit for a record.
func (p *probe) recordLimit() int {
	p.t.Helper()
	return cmp.Or(p.options.MaxRecord, p.limit())
}

func putTakesNoMoreThanTheLimit(p *probe) {
	limit, key := p.recordLimit(), p.key("t")
	largest := store.Record{Name: store.LogName(1), Fence: 1, Payload: noise(limit)}
	p.put(key, largest)
	p.wantRecord(key, largest)

	tooLarge := store.Record{Name: store.LogName(2), Fence: 1, Payload: noise(limit + 1)}
	if err := p.b.Put(p.ctx, key, tooLarge); !errors.Is(err, store.ErrTooLarge) {
		p.t.Errorf("Put of %d bytes, one over the limit, returns the error %v, want ErrTooLarge", limit+1, err)
	}
	p.wantNoRecord(key, tooLarge.Name)
}

// commitTakesNoMoreThanTheLimit: a record over it is found before anything is sent, for
// each of the call's records.
func commitTakesNoMoreThanTheLimit(p *probe) {
	limit, key := p.recordLimit(), p.key("t")
	pointer := store.Pointer{Name: "run", Value: []byte("v"), TTL: time.Hour}
	tooLarge := store.Record{Name: store.LogName(2), Fence: 1, Payload: noise(limit + 1)}
	got, err := p.b.Commit(p.ctx, key, store.Commit{
		Pointers: []store.Pointer{pointer}, Records: []store.Record{logRecord(1, 1), tooLarge}, Head: head(1, 1),
	})
	if !errors.Is(err, store.ErrTooLarge) || got.Written {
		p.t.Errorf("Commit of a record of %d bytes, one over the limit, returns %+v, %v, want ErrTooLarge", limit+1, got, err)
	}
	p.wantNoPointer(p.tenant, "run")
	p.wantNoRecord(key, store.LogName(1))
	p.wantNoRecord(key, tooLarge.Name)
	p.wantHead(key, thread.Head{})

	largest := store.Record{Name: store.LogName(2), Fence: 1, Payload: noise(limit)}
	p.commit(key, store.Commit{Pointers: []store.Pointer{pointer}, Records: []store.Record{logRecord(1, 1), largest}, Head: head(1, 1)})
	p.wantRecord(key, largest)
}

// pointersTakeNoMoreThanTheLimit: a value over it is found before anything is sent.
func pointersTakeNoMoreThanTheLimit(p *probe) {
	limit, key := p.limit(), p.key("t")
	small := store.Pointer{Name: "small", Value: []byte("v"), TTL: time.Hour}
	tooLarge := store.Pointer{Name: "large", Value: noise(limit + 1), TTL: time.Hour}
	got, err := p.b.Commit(p.ctx, key, store.Commit{
		Pointers: []store.Pointer{small, tooLarge}, Records: []store.Record{logRecord(1, 1)}, Head: head(1, 1),
	})
	if !errors.Is(err, store.ErrTooLarge) || got.Written {
		p.t.Errorf("Commit with a pointer of %d bytes, one over the limit, returns %+v, %v, want ErrTooLarge", limit+1, got, err)
	}
	p.wantNoPointer(p.tenant, "small")
	p.wantNoPointer(p.tenant, "large")
	p.wantNoRecord(key, store.LogName(1))
	p.wantHead(key, thread.Head{})
}
