package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var pointerClauses = []clause{
	{"PointersAreCreateOnly", pointersAreCreateOnly},
	{"PointerNamesAreFree", pointerNamesAreFree},
	{"TakenPointersStopACommit", takenPointersStopACommit},
	{"OneOfRacingPointersWins", oneOfRacingPointersWins},
}

func pointersAreCreateOnly(p *probe) {
	p.wantNoPointer(p.tenant, "run")
	p.point(p.tenant, "run", []byte("first"))
	p.wantPointer(p.tenant, "run", []byte("first"))
	p.point(p.tenant, "run", []byte("first")) // the same value again, with another thread's head
	p.wantPointer(p.tenant, "run", []byte("first"))
	p.point(p.tenant, "other", []byte("second"))
	p.wantPointer(p.tenant, "other", []byte("second"))
	p.point(p.tenant+".2", "run", []byte("third")) // of another tenant
	p.wantPointer(p.tenant+".2", "run", []byte("third"))
	p.wantPointer(p.tenant, "run", []byte("first"))
	p.point(p.tenant, "bytes", noise(2048))
	p.wantPointer(p.tenant, "bytes", noise(2048))
	p.commit(p.key("kept"), store.Commit{Pointers: []store.Pointer{{Name: "kept", Value: []byte("a")}}, Head: head(1, 1)}) // TTL 0: permanently
	p.wantPointer(p.tenant, "kept", []byte("a"))
}

// pointerNamesAreFree: a name may hold a client's text, such as an idempotency
// key.
func pointerNamesAreFree(p *probe) {
	for _, name := range []string{"a", "A", "a#b", "a/b", "a b", "ä", "%", "N#1", "a:"} {
		p.wantNoPointer(p.tenant, name)
		p.point(p.tenant, name, []byte(name))
		p.wantPointer(p.tenant, name, []byte(name))
	}
}

// takenPointersStopACommit: a pointer that holds another value stops the call
// before records and head, and its stored value comes back.
func takenPointersStopACommit(p *probe) {
	p.point(p.tenant, "a", []byte("older"))
	p.point(p.tenant, "b", []byte("other"))
	p.point(p.tenant, "c", []byte("equal"))
	a, b := store.Pointer{Name: "a", Value: []byte("ours"), TTL: time.Hour}, store.Pointer{Name: "b", Value: []byte("ours"), TTL: time.Hour}
	c, d := store.Pointer{Name: "c", Value: []byte("equal"), TTL: time.Hour}, store.Pointer{Name: "d", Value: []byte("ours"), TTL: time.Hour}
	tests := []struct {
		name     string
		pointers []store.Pointer
		want     map[string]string
	}{
		{"alone", []store.Pointer{a}, map[string]string{"a": "older"}},
		{"first of three", []store.Pointer{a, c, d}, map[string]string{"a": "older"}},
		{"last of three", []store.Pointer{c, d, b}, map[string]string{"b": "other"}},
		{"two of four", []store.Pointer{a, c, b, d}, map[string]string{"a": "older", "b": "other"}},
	}
	for i, tt := range tests {
		key := p.key(fmt.Sprint("t", i))
		p.set(key, head(1, 1))
		got, err := p.b.Commit(p.ctx, key, store.Commit{Pointers: tt.pointers, Records: []store.Record{logRecord(1, 1)}, Head: head(2, 2)})
		if err != nil || got.Written || got.Head.Exists() {
			p.t.Errorf("%s: Commit with a taken pointer returns %+v, %v, want Taken alone and no error", tt.name, got, err)
		}
		taken := map[string]string{}
		for _, pointer := range got.Taken {
			taken[pointer.Name] = string(pointer.Value)
		}
		if diff := cmp.Diff(tt.want, taken); diff != "" {
			p.t.Errorf("%s: Taken must list the pointers that hold another value, with the stored values (-want +got):\n%s", tt.name, diff)
		}
		p.wantNoRecord(key, store.LogName(1))
		p.wantHead(key, head(1, 1))
	}
	p.wantPointer(p.tenant, "a", []byte("older"))
	p.wantPointer(p.tenant, "b", []byte("other"))
}

// oneOfRacingPointersWins is a request that is sent 16 times concurrently under one
// idempotency key: each would open a new thread.
func oneOfRacingPointersWins(p *probe) {
	var mu sync.Mutex
	won, met := []string{}, map[string]int{}
	p.race(16, func(ctx context.Context, i int) error {
		name := fmt.Sprint("t", i)
		got, err := p.b.Commit(ctx, p.key(name), store.Commit{
			Pointers: []store.Pointer{{Name: "key", Value: []byte(name), TTL: time.Hour}},
			Records:  []store.Record{{Name: "Q#1#0", Payload: []byte(name)}},
			Head:     head(1, byte(i)),
		})
		mu.Lock()
		defer mu.Unlock()
		if got.Written {
			won = append(won, name)
		}
		for _, taken := range got.Taken {
			met[string(taken.Value)]++
		}
		return err
	})
	if len(won) != 1 || met[won[0]] != 15 {
		p.t.Fatalf("of 16 racing Commits with one pointer and different values %v were written, the others met %v, want one written and its value 15 times", won, met)
	}
	for i := range 16 {
		if key := p.key(fmt.Sprint("t", i)); key.Thread != won[0] {
			p.wantHead(key, thread.Head{})
			p.wantNoRecord(key, "Q#1#0")
		}
	}
	p.wantPointer(p.tenant, "key", []byte(won[0]))
}

// point stores a pointer with the first head of a thread that nothing else uses.
func (p *probe) point(tenant, name string, value []byte) {
	p.t.Helper()
	p.pointed++
	key := core.ThreadKey{Tenant: tenant, Thread: fmt.Sprintf("%s.%d", p.tenant, p.pointed)}
	p.commit(key, store.Commit{Pointers: []store.Pointer{{Name: name, Value: value, TTL: time.Hour}}, Head: head(1, 1)})
}

func (p *probe) wantPointer(tenant, name string, want []byte) {
	p.t.Helper()
	value, ok, err := p.b.Pointer(p.ctx, tenant, name)
	if !ok || err != nil || string(value) != string(want) {
		p.t.Errorf("Pointer(%s, %s) returns %q, ok=%v, %v, want %q", tenant, name, value, ok, err, want)
	}
}

func (p *probe) wantNoPointer(tenant, name string) {
	p.t.Helper()
	value, ok, err := p.b.Pointer(p.ctx, tenant, name)
	if ok || err != nil {
		p.t.Errorf("Pointer(%s, %s) returns %q, ok=%v, %v; it was never put, so ok must be false without an error", tenant, name, value, ok, err)
	}
}
