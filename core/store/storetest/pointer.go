package storetest

import (
	"context"
	"sync"
	"time"
)

var pointerClauses = []clause{
	{"PointersAreCreateOnly", pointersAreCreateOnly},
	{"PointerNamesAreFree", pointerNamesAreFree},
	{"RacingPointersAgree", racingPointersAgree},
}

func pointersAreCreateOnly(p *probe) {
	p.wantNoPointer(p.tenant, "run")
	p.wantPointer(p.tenant, "run", []byte("first"), []byte("first"))
	p.wantPointer(p.tenant, "run", []byte("second"), []byte("first"))
	p.wantPointer(p.tenant, "run", []byte("first"), []byte("first"))
	p.wantPointer(p.tenant, "other", []byte("second"), []byte("second"))
	p.wantPointer(p.tenant+".2", "run", []byte("third"), []byte("third")) // of another tenant
	p.wantPointer(p.tenant, "bytes", noise(2048), noise(2048))

	stored, err := p.b.PutPointer(p.ctx, p.tenant, "kept", []byte("a"), 0)
	if err != nil || string(stored) != "a" {
		p.t.Fatalf("PutPointer with ttl 0 answers %q, %v, want it kept for good", stored, err)
	}
	p.wantPointer(p.tenant, "kept", []byte("b"), []byte("a"))
}

// pointerNamesAreFree: a name may hold a client's text, such as an idempotency
// key.
func pointerNamesAreFree(p *probe) {
	for _, name := range []string{"a", "A", "a#b", "a/b", "a b", "ä", "%", "N#1", "a:"} {
		p.wantNoPointer(p.tenant, name)
		p.wantPointer(p.tenant, name, []byte(name), []byte(name))
	}
}

func racingPointersAgree(p *probe) {
	var mu sync.Mutex
	answers := map[string]int{}
	p.race(16, func(ctx context.Context, i int) error {
		stored, err := p.b.PutPointer(ctx, p.tenant, "run", []byte{'a' + byte(i)}, time.Hour)
		mu.Lock()
		defer mu.Unlock()
		answers[string(stored)]++
		return err
	})
	if len(answers) != 1 {
		p.t.Errorf("16 racing PutPointer calls with different values were answered %v, want one and the same value for all", answers)
	}
}
