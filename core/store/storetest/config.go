package storetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var configClauses = []clause{
	{"SnapshotsAreCreateOnly", snapshotsAreCreateOnly},
	{"OneOfRacingSnapshotsWins", oneOfRacingSnapshotsWins},
	{"SnapshotHashesThatFailCheckAreInvalid", snapshotHashesThatFailCheckAreInvalid},
	{"SnapshotsTakeNoMoreThanTheLimit", snapshotsTakeNoMoreThanTheLimit},
}

// putSnapshot makes a PutSnapshot that must be accepted. Snapshots belong to no
// tenant: clauses keep apart by what their hashes begin with.
func (p *probe) putSnapshot(hash string, content []byte) {
	p.t.Helper()
	if err := p.b.PutSnapshot(p.ctx, hash, content); err != nil {
		p.t.Fatalf("PutSnapshot(%s) of %d bytes: %v", hash, len(content), err)
	}
}

func (p *probe) wantSnapshot(hash string, want []byte) {
	p.t.Helper()
	got, ok, err := p.b.Snapshot(p.ctx, hash)
	if err != nil || !ok || string(got) != string(want) {
		p.t.Errorf("Snapshot(%s) returns %d bytes %q, %v, %v, want %d bytes %q; it must be strongly consistent",
			hash, len(got), core.Excerpt(string(got)), ok, err, len(want), core.Excerpt(string(want)))
	}
}

func (p *probe) wantNoSnapshot(hash string) {
	p.t.Helper()
	if got, ok, err := p.b.Snapshot(p.ctx, hash); err != nil || ok {
		p.t.Errorf("Snapshot(%s) returns %d bytes, %v, %v; one that does not exist is ok=false and no error", hash, len(got), ok, err)
	}
}

func snapshotsAreCreateOnly(p *probe) {
	hash := p.tenant + ".1"
	p.wantNoSnapshot(hash)
	p.putSnapshot(hash, []byte(`{"agents":[]}`))
	p.wantSnapshot(hash, []byte(`{"agents":[]}`))
	p.putSnapshot(hash, []byte(`{"agents":[]}`)) // equal bytes again
	err := p.b.PutSnapshot(p.ctx, hash, []byte(`{"agents":[1]}`))
	var refused *store.RefusedError
	if !errors.Is(err, store.ErrConflict) || !errors.As(err, &refused) || refused.Name != hash {
		p.t.Errorf("PutSnapshot of other bytes returns the error %v, want a *RefusedError with ErrConflict that names %s", err, hash)
	}
	p.wantSnapshot(hash, []byte(`{"agents":[]}`))

	p.wantNoSnapshot(p.tenant + ".")
	p.wantNoSnapshot(p.tenant + ".11")
	p.wantNoSnapshot(strings.ToUpper(hash))
	p.putSnapshot(p.tenant+".large", []byte(strings.Repeat("compressible ", 5000)))
	p.wantSnapshot(p.tenant+".large", []byte(strings.Repeat("compressible ", 5000)))
	p.putSnapshot(p.tenant+".empty", nil)
	p.wantSnapshot(p.tenant+".empty", nil)
	p.putSnapshot(p.tenant+".bytes", noise(2048))
	p.wantSnapshot(p.tenant+".bytes", noise(2048))
}

// oneOfRacingSnapshotsWins: if writers store one hash with two contents, only those with
// the first content succeed.
func oneOfRacingSnapshotsWins(p *probe) {
	const writers = 16
	hash := p.tenant + ".1"
	var won [2]atomic.Int64
	p.race(writers, func(ctx context.Context, i int) error {
		err := p.b.PutSnapshot(ctx, hash, []byte{'a' + byte(i%2)})
		if err == nil {
			won[i%2].Add(1)
		} else if errors.Is(err, store.ErrConflict) {
			err = nil
		}
		return err
	})
	got, _, err := p.b.Snapshot(p.ctx, hash)
	if err != nil || len(got) != 1 {
		p.t.Fatalf("Snapshot returns %q, %v", got, err)
	}
	first := int(got[0] - 'a')
	if won[first].Load() != writers/2 || won[1-first].Load() != 0 {
		p.t.Errorf("%d of the 8 writers of the stored bytes and %d of the 8 of others were accepted, want 8 and 0", won[first].Load(), won[1-first].Load())
	}
}

func snapshotHashesThatFailCheckAreInvalid(p *probe) {
	for _, hash := range []string{"", ".", "a#b", "a\x00b", "a/b", "a b", strings.Repeat("x", 129)} {
		_, _, readErr := p.b.Snapshot(p.ctx, hash)
		for method, err := range map[string]error{"Snapshot": readErr, "PutSnapshot": p.b.PutSnapshot(p.ctx, hash, []byte("a"))} {
			if core.CodeOf(err) != core.CodeInvalid {
				p.t.Errorf("%s(%q) returns the error %v, want code %q", method, hash, err, core.CodeInvalid)
			}
		}
	}
}

func snapshotsTakeNoMoreThanTheLimit(p *probe) {
	limit := p.limit()
	p.putSnapshot(p.tenant+".largest", noise(limit))
	p.wantSnapshot(p.tenant+".largest", noise(limit))
	if err := p.b.PutSnapshot(p.ctx, p.tenant+".more", noise(limit+1)); !errors.Is(err, store.ErrTooLarge) {
		p.t.Errorf("PutSnapshot of %d bytes, one over the limit, returns the error %v, want ErrTooLarge", limit+1, err)
	}
	p.wantNoSnapshot(p.tenant + ".more")
}
