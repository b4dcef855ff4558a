package run

import (
	"context"
	"errors"
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
	if len(records) == 0 {
		return nil
	}
	w.env.Reach(at, env.Before)
	defer w.env.Reach(at, env.After)
	if len(records) == 1 {
		return w.putOne(ctx, records[0])
	}
	group, shared := w.env.Group(ctx)
	for _, record := range records[1:] {
		group.Go(func(ctx context.Context) error { return w.putOne(ctx, record) })
	}
	err := w.putOne(shared, records[0])
	return errors.Join(err, group.Wait())
}

func (w *work) putOne(ctx context.Context, record store.Record) error {
	for failures := 0; ; failures++ {
		err := w.threads.Put(ctx, w.key, record)
		if err == nil {
			return nil
		}
		if refused(err) || failures == putFailures || w.env.Sleep(ctx, w.env.Jitter(putBase<<failures)) != nil {
			return fmt.Errorf("put %s: %w", record.Name, err)
		}
	}
}

// refused reports whether a put failed for good. Anything else may pass, and
// the same bytes can always be put again.
func refused(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeConflict, core.CodeFenced, core.CodeSchema, core.CodeDeleted:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
