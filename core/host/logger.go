package host

import (
	"context"
	"log/slog"
)

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
