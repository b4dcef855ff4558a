package run

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// holder is where a claimed run is in the store, as the step that has the claim knows it. It
// alone changes the head, and puts records under the claim's fence; it knows no agent. It
// belongs to the step's goroutine, but for shared.
type holder struct {
	s         *Stepper // whose options hold for all steps
	env       *env.Env
	records   thread.Records // encodes what the step stores
	Key       core.ThreadKey
	id        core.ID         // of the run
	head      thread.Head     // as this step knows it; the watch may have written newer versions
	found     thread.Cursor   // the run's cursor when the step was called
	given     *thread.Queued  // see Work.Input
	keep      bool            // see Work.Keep
	whole     bool            // see Work.Whole
	proved    func()          // see Work.Proved
	last      time.Time       // until when there is time to hand back the work; zero: no end
	events    history.Emitter // to the listener of this step
	log       logger
	shared    shared         // with the watch, the tools, and code that writes or listens in this process
	moved     bool           // the step made a commit: it is progress, with any later outcome of the step
	lacks     bool           // this build lacks a part that the agent names, and continues without
	stepBegan int64          // when the claim began the step, unix milliseconds: its hooks up to the turn are shown that
	dueFor    int64          // how long the run was due before the claim took it, milliseconds; 0: the claim had it before the step
	taken     time.Time      // when this process took up the step; zero: no observer
	failures  []ModelFailure // of the step, for its report to the observer
	outcome   *core.Run      // the run, if it is done or has started to wait by a write of the step
	lateFor   time.Duration  // how late the claim was: see thread.Head.Late

	profiles state.Profiles // of the run's tenant; nil: the host has none

	account accounting.Run // the run's accounts, as this step keeps them
}

// clock is a recorded time as hooks and tools are shown it, the same on every machine.
func clock(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// fence is that of the step's claim. It is the fence for which records are
// written; the events of a turn keep the fence that its inference ran under.
func (h *holder) fence() uint64 { return h.shared.hold.fence.Load() }

// claims reports whether the head still has the step's claim. A commit whose
// response was lost may be found applied under a head that another worker has
// claimed since: the records that it made visible remain, and the other worker
// continues.
func (h *holder) claims() bool { return h.head.Claim.Fence == h.fence() }

// handedOn is how the step ends after a commit with an outcome. A caller that wants
// to continue under this claim must have it.
func (h *holder) handedOn(outcome thread.Outcome) Stepped {
	if outcome == thread.Continue && !h.claims() {
		outcome = thread.Yield
	}
	return Stepped{Outcome: outcome, Head: h.head, Followed: h.shared.chunks.Followed()}
}

// allDone are the statuses of a round that is over; none without one.
func (h *holder) allDone() []thread.CallStatus {
	calls := make([]thread.CallStatus, len(h.head.Run.Calls))
	for i := range calls {
		calls[i] = thread.CallDone
	}
	return calls
}

// hearHead continues from the head that the watch has seen, if it is newer than the
// step's own: with decisions that came while siblings ran. It is the same claim's,
// or the watch would have stopped the step.
func (h *holder) hearHead() {
	if head := h.shared.news.newest(); head != nil && head.Version > h.head.Version {
		h.head = *head
	}
}

// proves notifies waiting code that the run has made progress.
func (h *holder) proves() {
	if h.proved != nil {
		h.proved()
	}
}

// warn and complain are the logger's.
func (h *holder) warn(ctx context.Context, text string, attrs ...any) {
	h.log.warn(ctx, text, attrs...)
}
func (h *holder) complain(ctx context.Context, text string, attrs ...any) {
	h.log.complain(ctx, text, attrs...)
}

// afterDeadline is how long the handing back of work may take when the step's
// own time is over.
const afterDeadline = 4 * time.Second

// detached returns a context for storing finished work and handing back the rest
// when ctx is over, or ends in that time. The step's deadline lies five seconds
// before the invocation's, of which this takes four. A host that stops waits as
// long; while it does not, the work continues under ctx, so that the stop is seen.
func (h *holder) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	late := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if !h.last.IsZero() && (late || ctx.Err() == nil) {
		return h.undisturbed(ctx)
	}
	if ctx.Err() != nil { // the host stops
		return h.env.WithTimeout(context.WithoutCancel(ctx), afterDeadline)
	}
	return context.WithCancel(ctx)
}

// undisturbed returns a context that ends with the process's time and with
// nothing else: not when the watch sees that the claim is over, which the very
// commit has made so.
func (h *holder) undisturbed(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if !h.last.IsZero() {
		return h.env.WithDeadline(free, h.last)
	}
	return context.WithCancel(free)
}

// effectTime is how long the effects of a commit may take at least: the commit may have come
// when the process's time was over, since the mailbox sees its last write through.
const effectTime = time.Second

// acting returns the context of the effects of a commit: undisturbed, and never over when it
// begins.
func (h *holder) acting(ctx context.Context) (context.Context, context.CancelFunc) {
	least := h.env.Now().Add(effectTime)
	if h.last.IsZero() || h.last.After(least) {
		return h.undisturbed(ctx)
	}
	return h.env.WithDeadline(context.WithoutCancel(ctx), least)
}

// claim is the step's claim as its neighbours see it: those who account what the run uses,
// and its inference, which is to know nothing else of a holder.
type claim struct{ holder *holder }

var (
	_ accounting.Holder = claim{}
	_ inference.Claim   = claim{}
)

// Head implements accounting.Holder: it reads the head of the thread.
func (c claim) Head(ctx context.Context) (thread.Head, error) {
	return c.holder.s.committer.Head(ctx, c.holder.Key)
}

// Fence implements accounting.Holder.
func (c claim) Fence() uint64 { return c.holder.fence() }

// Refence implements inference.Claim.
func (c claim) Refence(ctx context.Context) (fence uint64, err error) {
	err = c.holder.refence(ctx, c.holder.head)
	return c.holder.fence(), err
}

// Followed implements inference.Claim. It reads the mark of a stream itself if the watch has
// not found one. The watch may not have looked yet, as when the model fails at once, and it
// never looks if the agent names the events to store. A mark that cannot be read counts as none.
func (c claim) Followed(ctx context.Context) bool {
	h := c.holder
	if h.shared.chunks.Followed() != 0 {
		return true
	}
	mark, err := live.FindMark(ctx, h.s.store, h.records, h.Key)
	return err == nil && mark.Run == h.id && mark.Valid(h.env.Millis())
}

// SaidAt implements inference.Claim.
func (c claim) SaidAt() int64 { return c.holder.saidAt(c.holder.events.Step()) }

// Failed implements inference.Claim.
func (c claim) Failed(provider, model, kind string) {
	c.holder.failures = append(c.holder.failures, ModelFailure{Provider: provider, Model: model, Kind: kind})
}

// Warn implements inference.Claim.
func (c claim) Warn(ctx context.Context, text string, attrs ...any) {
	c.holder.warn(ctx, text, attrs...)
}

// beganAt is when the claim began the step: what hooks up to the turn are shown.
func (h *holder) beganAt() int64 {
	if h.head.Run.Cursor == thread.CursorStart {
		return h.s.choices.Time(Instant{Kind: InstantRun, Run: h.id})
	}
	return h.s.choices.Time(Instant{Kind: InstantStep, Run: h.id, Step: int(h.head.Run.Step) + 1})
}

// startedAt is when the run was first claimed: under this claim, or under one that was lost
// before anything of the run was stored.
func (h *holder) startedAt() int64 {
	first := h.stepBegan
	if lost := h.head.Times().Losses; len(lost) > 0 && lost[0].Step == 1 && lost[0].Claimed > 0 {
		first = min(first, lost[0].Claimed)
	}
	return h.s.choices.Time(Instant{Kind: InstantFirst, Run: h.id, Round: first})
}

// saidAt is when the turn of a step was complete, or the last words of a run said.
func (h *holder) saidAt(number int) int64 {
	return h.s.choices.Time(Instant{Kind: InstantSaid, Run: h.id, Step: number})
}

// endedAt is when the run ends.
func (h *holder) endedAt() int64 { return h.s.choices.Time(Instant{Kind: InstantEnd, Run: h.id}) }
