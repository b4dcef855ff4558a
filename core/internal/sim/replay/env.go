package replay

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// env is an environment in which nothing happens by itself: the clock does not move, a
// started function runs to its end before its starter continues, and no time is ever
// over. So two replays of the same record by the same code do the same, in the same
// order.
func (d *director) env() *env.Env {
	return &env.Env{
		Now:   func() time.Time { return time.UnixMilli(d.now).UTC() },
		Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) },
		Wait: func(ctx context.Context, done <-chan struct{}) error {
			select {
			case <-done:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Deadline: func(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
			return context.WithCancel(ctx)
		},
		Random: func(b []byte) { // ids of writes differ, and no pause is drawn
			d.ids++
			clear(b)
			if len(b) >= 16 {
				binary.BigEndian.PutUint64(b[8:], d.ids)
			}
		},
		Start: func(f func()) { f() },
		After: func(time.Duration, func()) func() bool { return func() bool { return true } },
		Reach: func(env.Point) func() { return func() {} },
	}
}
