package run

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Pauses before a failed step is tried again: full jitter over base * 2^attempts.
const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 30 * time.Second
	storePause  = 400 * time.Millisecond // after a store that does not respond; up to twice that
	schemaPause = 30 * time.Second       // before a newer program is looked for
)

// giveBack releases the claim after an error: immediately when the time was over,
// after a pause when something failed. Stored results stay, and their calls are
// done. If the claim is lost, or its commit was applied by a lost write, there is
// nothing to release.
func (m *machine) giveBack(ctx context.Context, cause error) (Stepped, error) {
	switch {
	case errors.Is(cause, thread.ErrDeleted):
		m.chargeLost(ctx)
		return Stepped{}, gone(cause, nil)
	case errors.Is(cause, thread.ErrFenced):
		m.chargeLost(ctx)
		return Stepped{}, cause
	case errors.Is(cause, thread.ErrApplied):
		return Stepped{}, cause
	}
	// Checked before detached makes a separate context.
	over, late := ctx.Err() != nil, errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	ctx, cancel := m.holder.detached(ctx)
	defer cancel()
	// Results first: a nack lists the calls that are done, and a call that it does
	// not list runs again. One that cannot be stored does not stop the nack.
	if err := m.tools.known().storeResults(ctx); stops(err) {
		return Stepped{}, gone(err, cause)
	}
	if err := m.chargeUnlogged(ctx, m.holder.head.Seq); err != nil { // the claim runs out instead
		return Stepped{}, gone(err, cause)
	}
	kind, at := m.holder.nackKind(cause, over, late)
	pause := time.Duration(max(0, at-m.holder.env.Millis())) * time.Millisecond
	level := slog.LevelWarn
	if kind == thread.NackGiven || kind == thread.NackLacks { // it continues elsewhere, as it should: a host that stops logs it for each of its runs
		level = slog.LevelInfo
	}
	said := slices.Concat(m.holder.log.attrs(), []any{"kind", kind.String(), "pause", pause}, failure(cause))
	m.holder.log.out.Log(ctx, level, "step released, will be retried", said...)
	err := m.nack(ctx, kind, at)
	if m.form < thread.FormStateless && errors.Is(err, store.ErrTooLarge) { // what RunEnd has changed
		m.form = thread.FormStateless
		err = m.nack(ctx, kind, at)
	}
	if err != nil {
		return Stepped{}, gone(err, cause)
	}
	return Stepped{Outcome: thread.Yield, Head: m.holder.head, Retry: true}, nil
}

// nack gives the claim back. It names the calls that were let through, also those that ran
// beside a commit with an unknown outcome: if the head does not have their turn, it has no such
// calls, and naming them changes nothing.
func (m *machine) nack(ctx context.Context, kind thread.NackKind, at int64) error {
	let := m.tools.known()
	if let == nil {
		let = m.begun.known()
	}
	w := &nackWrite{
		codec: m.holder.records, account: &m.holder.account, run: m.holder.id, kind: kind, at: at, closing: m.holder.head.Run.Status == thread.Closing,
		adopted: m.tools.known().schemaMet(), through: let.letThrough(m.holder.head),
		failed: m.unsaid.Failures(), failing: m.unsaid.Failing(), unlogged: m.unsaid.Spent(), ended: m.runEnded, form: m.form, followed: m.holder.shared.chunks.Followed(),
	}
	if m.tools != nil {
		w.calls, w.progress = m.tools.round.statuses(m.holder.head.Run.Calls)
	}
	_, _, err := m.save(ctx, w)
	return err
}

// gone joins the error that kept a step from releasing its claim with the reason
// for the release. For a thread that was deleted nothing remains to release: the
// caller receives a lost claim.
func gone(err, cause error) error {
	if errors.Is(err, thread.ErrDeleted) {
		err = errors.Join(thread.ErrFenced, err)
	}
	return errors.Join(err, cause)
}

// nackKind decides whether a failure counts as an attempt, and when to try again.
// Attempts judge the run, never the host. A failure that is no evidence against the
// run (a stop, an edited input, a record that only a newer program reads, a tool
// that only another build has) is not counted, however often it happens.
func (h *holder) nackKind(cause error, over, late bool) (kind thread.NackKind, at int64) {
	var again *inference.RetryError
	var lacks *lacking
	switch {
	case errors.As(cause, &again):
		return thread.NackModel, h.env.Millis() + again.Wait.Milliseconds()
	case errors.As(cause, &lacks):
		return thread.NackLacks, h.leftUntil()
	case errors.Is(cause, thread.ErrStale):
		return thread.NackGiven, 0
	case core.CodeOf(cause) == core.CodeSchema: // a newer program's: this one would only take it again
		return thread.NackGiven, h.env.Millis() + schemaPause.Milliseconds()
	case late: // the run may be what takes so long: an attempt, and no pause after a whole invocation
		return thread.NackFailed, 0
	case over:
		return thread.NackGiven, 0 // the host stops
	}
	switch core.CodeOf(cause) {
	case core.CodeThrottled, core.CodeUnavailable: // attempts judge the run, not its store
		return thread.NackGiven, h.env.Millis() + (storePause + h.env.Jitter(storePause)).Milliseconds()
	}
	delay := h.env.Jitter(min(backoffCap, backoffBase<<min(h.head.Run.Attempts, 7)))
	return thread.NackFailed, h.env.Millis() + delay.Milliseconds()
}

// chargeUnlogged charges the started turn that no log will have, before the write
// by which the run ends or its claim is released. seq is where the log ends.
func (m *machine) chargeUnlogged(ctx context.Context, seq uint64) error {
	return m.holder.account.Void(ctx, m.unsaid.Spent(), seq)
}

// chargeLost does it for a claim that is lost, to another or since the thread is
// deleted: no write of it follows. Usage that cannot be counted is lost with it.
func (m *machine) chargeLost(ctx context.Context) {
	if m.unsaid == nil || m.holder.account.Charged() { // a context would be for nothing
		return
	}
	ctx, cancel := m.holder.undisturbed(ctx)
	defer cancel()
	if err := m.holder.account.Void(ctx, m.unsaid.Spent(), m.holder.head.Seq); err != nil {
		m.holder.warn(ctx, "usage of a lost claim not charged", "error", err)
	}
}
