package runtime

import (
	"context"
	"log/slog"

	"github.com/reveille-run/reveille/core/agent"
)

// New returns a runtime for a program that runs agents itself: on the real clock, with
// everything in memory. The calls that wait for a run ([Runtime.Run], [Runtime.Events],
// [Runtime.Play], [Runtime.Await], [Runtime.Resume], [Runtime.Stream], [Runtime.Follow]) take
// its steps themselves, in goroutines that have ended when the call returns; between calls
// nothing runs, unless [Runtime.Work] does. The next call that waits also works on what
// [Runtime.Submit] has queued.
//
// Threads stay in memory as long as the runtime, so that they can be continued: a program
// that runs for long deletes those that have ended ([Runtime.DeleteThread]), or keeps them in
// a store, with [Build].
//
// [slog.Default] receives warnings and errors. The error is that of the parts, see
// [agent.NewRegistry].
func New(parts agent.Parts) (*Runtime, error) {
	return Build(Config{Agents: parts})
}

// warnings is a handler that drops records below the level warning: the call that waits
// reports how its run ended.
type warnings struct{ next slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, record slog.Record) error {
	return w.next.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.next.WithGroup(name)} }
