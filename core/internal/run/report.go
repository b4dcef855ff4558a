package run

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
)

// report records how a run ended, or that it starts to wait: in the observer, and
// in the one line of the log that shows an operator what ran. It comes after the
// write that makes it so, in the process that made it; a crash in between loses it. r is not
// changed any more.
func (h *holder) report(ctx context.Context, r *core.Run) {
	if h.s.observer != nil {
		h.s.observer.Ended(*r)
		h.outcome = r
	}
	if !h.log.out.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{
		slog.String("agent", r.AgentID), slog.String("tenant", h.Key.Tenant), slog.String("thread", h.Key.Thread), slog.String("run", h.id.String()),
		slog.Int("steps", r.Steps), slog.Int("tokens_in", r.Usage.Input), slog.Int("tokens_out", r.Usage.Output),
	}
	if r.Status == core.RunWaiting {
		h.log.out.LogAttrs(ctx, slog.LevelInfo, "run waits", append(attrs, slog.Int("tickets", len(h.head.Tickets)))...)
		return
	}
	// A run that ended before its first step has taken the time since its
	// submission. If the input is lost, neither time is known.
	if began := cmp.Or(r.StartedAt, r.CreatedAt); began != 0 {
		attrs = append(attrs, slog.String("duration", (time.Duration(r.FinishedAt-began)*time.Millisecond).String()))
	}
	if t := r.Termination; t != nil {
		attrs = append(attrs, slog.String("end", string(t.Type)))
		if t.Code != "" {
			attrs = append(attrs, slog.String("code", t.Code))
		}
	}
	h.log.out.LogAttrs(ctx, slog.LevelInfo, "run finished", attrs...)
}

// began notes the time when a step is taken up, for an observer of its duration:
// nothing else asks for the time.
func (h *holder) began() {
	if h.s.observer != nil {
		h.taken = h.env.Now()
	}
}

// stepOver tells the observer that the step is over.
func (h *holder) stepOver(agent string) {
	if h.s.observer != nil {
		h.s.observer.Stepped(agent, h.env.Now().Sub(h.taken))
	}
}

// reported tells the observer what operators count of the step, whatever became of it.
// agent is the run's, as far as it is known.
func (h *holder) reported(agent string) {
	if h.s.observer == nil {
		return
	}
	d := StepReport{Key: h.Key, Late: h.lateFor, Failures: h.failures}
	if d.Ended = h.outcome != nil; d.Ended {
		d.Run = *h.outcome
	} else {
		d.Run = core.Run{ID: h.id, ThreadID: h.Key.Thread, AgentID: agent}
	}
	h.s.observer.Reported(d)
}
