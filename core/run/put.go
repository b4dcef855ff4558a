package run

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// Retries of a record put: what a model or tool said is not thrown away for a
// passing fault of the store.
const (
	putFailures = 6
	putBase     = 50 * time.Millisecond
)

// put stores records concurrently; all must succeed.
func (w *work) put(ctx context.Context, at env.Point, records ...store.Record) error {
	w.env.Reach(at, env.Before)
	defer w.env.Reach(at, env.After)
	if len(records) == 1 {
		return w.putOne(ctx, records[0])
	}
	group, _ := w.env.Group(ctx)
	for _, record := range records {
		group.Go(func(ctx context.Context) error { return w.putOne(ctx, record) })
	}
	return group.Wait()
}

func (w *work) putOne(ctx context.Context, record store.Record) error {
	for failures := 0; ; failures++ {
		err := w.threads.Put(ctx, w.key, record)
		if err == nil {
			return nil
		}
		code := core.CodeOf(err)
		passing := code == core.CodeThrottled || code == core.CodeUnavailable
		if !passing || failures == putFailures || w.env.Sleep(ctx, w.env.Jitter(putBase<<failures)) != nil {
			return fmt.Errorf("put %s: %w", record.Name, err)
		}
	}
}
