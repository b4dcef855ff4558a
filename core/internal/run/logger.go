package run

import (
	"context"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
)

// logger writes the log lines of one step, each with the step's tenant, thread, run
// and number. Payloads are never among them.
type logger struct {
	out    *slog.Logger
	key    *core.ThreadKey
	run    *core.ID
	events *history.Emitter // which knows the number of the step
}

// attrs returns the attributes that identify the step.
func (l *logger) attrs() []any {
	return []any{"tenant", l.key.Tenant, "thread", l.key.Thread, "run", *l.run, "step", l.events.Step()}
}

// warn logs what the run survives.
func (l *logger) warn(ctx context.Context, text string, attrs ...any) {
	l.out.WarnContext(ctx, text, append(l.attrs(), attrs...)...)
}

// complain logs what an operator must look at: what is lost, or code that fails
// where its failure has no other reader.
func (l *logger) complain(ctx context.Context, text string, attrs ...any) {
	l.out.ErrorContext(ctx, text, append(l.attrs(), attrs...)...)
}
