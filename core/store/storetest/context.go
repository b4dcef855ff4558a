package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

func cancelledContextIsAnError(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	p.put(key, logRecord(1, 1))
	profile := named("n", "k")
	revision := p.writeProfile(p.tenant, profile, `1`, 0)
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()

	calls := []struct {
		name string
		call func() error
	}{
		{"Head", func() error { _, err := p.b.Head(ctx, key); return err }},
		{"Commit", func() error { _, err := p.b.Commit(ctx, key, store.Commit{Head: head(2, 2)}); return err }},
		{"Put", func() error { return p.b.Put(ctx, key, logRecord(2, 1)) }},
		{"Get", func() error { _, _, err := p.b.Get(ctx, key, store.LogName(1)); return err }},
		{"Log", func() error { return firstError(p.b.Log(ctx, key, 1, 1)) }},
		{"LogBackwards", func() error { return firstError(p.b.LogBackwards(ctx, key, 1, 1)) }},
		{"Pointer", func() error { _, _, err := p.b.Pointer(ctx, p.tenant, "n"); return err }},
		{"Overdue", func() error { _, err := p.b.Overdue(ctx, 0, 1, nil, 1); return err }},
		{"Records", func() error { _, err := p.b.Records(ctx, key, "M#", "", 1); return err }},
		{"Waiting", func() error { _, err := p.b.Waiting(ctx, p.tenant, nil, 1); return err }},
		{"ReadProfile", func() error { _, err := p.b.ReadProfile(ctx, p.tenant, profile); return err }},
		{"WriteProfile", func() error {
			_, err := p.b.WriteProfile(ctx, p.tenant, profile, json.RawMessage("2"), state.AnyRevision)
			return err
		}},
		{"DeleteProfile", func() error { return p.b.DeleteProfile(ctx, p.tenant, profile, state.AnyRevision) }},
		{"ProfileKeys", func() error { _, err := p.b.ProfileKeys(ctx, p.tenant, "n", "", "", 1); return err }},
		{"PutSnapshot", func() error { return p.b.PutSnapshot(ctx, p.tenant, []byte("a")) }},
		{"Snapshot", func() error { _, _, err := p.b.Snapshot(ctx, p.tenant); return err }},
	}
	for _, c := range calls {
		if err := c.call(); !errors.Is(err, context.Canceled) {
			p.t.Errorf("%s with a cancelled context returns the error %v, want one that wraps context.Canceled", c.name, err)
		}
	}
	p.wantProfile(p.tenant, profile, `1`, revision)
	p.wantNoSnapshot(p.tenant)
}

// aCancelledLogIsNeverShort: a log whose context ends while it is ranged over shows all of
// its records, or an error that wraps the context's, and never silently fewer.
func aCancelledLogIsNeverShort(p *probe) {
	key, _ := p.longLog()
	reads := map[string]func(ctx context.Context) iter.Seq2[store.Record, error]{
		"Log": func(ctx context.Context) iter.Seq2[store.Record, error] { return p.b.Log(ctx, key, 0, longLog) },
		"LogBackwards": func(ctx context.Context) iter.Seq2[store.Record, error] {
			return p.b.LogBackwards(ctx, key, 0, longLog)
		},
	}
	for method, read := range reads {
		ctx, cancel := context.WithCancel(p.ctx)
		seen := 0
		var last error
		for _, err := range read(ctx) {
			if last = err; err != nil {
				break
			}
			if seen++; seen == 3 {
				cancel()
			}
		}
		if seen != longLog && !errors.Is(last, context.Canceled) {
			p.t.Errorf("%s whose context ends after the third of %d records ends after %d with the error %v, want one that wraps context.Canceled", method, longLog, seen, last)
		}
		cancel()
	}
}
