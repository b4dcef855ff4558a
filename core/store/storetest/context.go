package storetest

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core/store"
)

func cancelledContextIsAnError(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	p.put(key, logRecord(1, 1))
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
	}
	for _, c := range calls {
		if err := c.call(); !errors.Is(err, context.Canceled) {
			p.t.Errorf("%s with a cancelled context returns the error %v, want one that wraps context.Canceled", c.name, err)
		}
	}
}
