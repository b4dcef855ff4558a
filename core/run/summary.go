package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/run/checkpoint"
	"github.com/reveille-run/reveille/core/run/compaction"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/window"
)

// adopt looks for the summary that the newest turn has asked for, and takes it into the
// draft if it has come: one read, and none where nothing is asked for. It comes behind
// the input, since a turn that the input takes back asks for nothing any more.
func (d *draft) adopt(ctx context.Context) error {
	asked := d.past.Window.Compact
	if asked <= d.past.Summary.Covers() {
		return nil
	}
	// It may have come later than it is there.
	if w, fixed := d.base.holder.s.choices.Summary(d.base.holder.id, d.base.holder.events.Step()); fixed && (w == nil || w.Summary != asked && w.Skipped != asked) {
		return nil
	}
	found, err := d.base.holder.s.reader.FindSummary(ctx, d.base.holder.Key, asked)
	switch {
	case core.CodeOf(err) == core.CodeSchema: // a newer program's: it uses it, or nobody does
		return nil
	case core.CodeOf(err) == core.CodeCorrupt: // nothing depends on it yet
		d.skip(ctx, asked, skippedCorrupt, "error", err)
		return nil
	case err != nil || found == nil:
		return err
	}
	d.settle(ctx, found)
	return nil
}

// settle takes a summary into the draft that was made, or notes that there is none.
func (d *draft) settle(ctx context.Context, s *checkpoint.Summary) {
	d.meterSummary(s)
	switch {
	case s.Skipped != "":
		d.skip(ctx, s.UpTo, s.Skipped)
	case s.Predecessor != d.past.Summary.Covers():
		d.skip(ctx, s.UpTo, skippedStale)
	default:
		past, first := *d.past, d.past.First
		past.Window.Compact, past.Window.Skipped = 0, 0
		past.Under(s)
		d.noted = past.SummaryNote()
		d.settled = append(d.settled, d.compacted(s, d.messages.Slice()[:past.First-first]))
		d.past, d.messages = &past, d.messages.Without(past.First-first)
	}
}

// compacted says what a summary saves that takes the place of messages and of the one
// before it.
func (d *draft) compacted(s *checkpoint.Summary, covered []core.Message) core.Event {
	perByte := d.base.agent.Room().PerByte
	before := window.ReckonAll(covered, perByte)
	if last := d.past.Summary; last != nil {
		before += window.ReckonAll([]core.Message{last.Message}, perByte)
	}
	return core.Event{
		Type: core.EventContextCompacted, UpTo: s.UpTo, TokensBefore: before, TokensAfter: window.ReckonAll([]core.Message{s.Message}, perByte),
	}
}

// Why a summary is not used that no record says it of.
const (
	skippedStale   = "stale"   // it was made behind another one than the one in force
	skippedCorrupt = "corrupt" // its record is damaged
	skippedNewer   = "newer"   // only a newer program can read its record
)

// skip notes that there is no summary up to a sequence.
func (d *draft) skip(ctx context.Context, upTo uint64, reason string, attrs ...any) {
	past := *d.past
	past.Window.Compact, past.Window.Skipped = 0, upTo
	d.past, d.noted = &past, past.SummaryNote()
	d.settled = append(d.settled, core.Event{Type: core.EventContextSkipped, UpTo: upTo, Reason: reason})
	d.base.holder.warn(ctx, "the thread is not summarised", append([]any{"up_to", upTo, "reason", reason}, attrs...)...)
}

// announceSummaries tells once in a step what became of the summaries that it has looked
// for: it looks before its stream has begun.
func (d *draft) announceSummaries() {
	for _, e := range d.settled {
		d.base.holder.events.Emit(e)
	}
	d.settled = nil
}

// compact asks for a summary where the step's request would be over the agent's
// threshold, or makes it. It comes once in a step, before it is decided what the request
// shows.
func (d *draft) compact(ctx context.Context, request *model.Request) error {
	if d.window != nil {
		return nil
	}
	d.shown = d.soFar()
	if w, fixed := d.base.holder.s.choices.Summary(d.base.holder.id, d.base.holder.events.Step()); fixed {
		return d.recompact(ctx, w)
	}
	how := compaction.ModeOf(d.base.agent)
	if how == agent.CompactOff {
		return nil
	}
	r := d.reckoning(request, d.beside)
	if r.Size() < min(d.base.agent.Spec.Context.AutocompactThreshold, r.Limit) {
		return nil
	}
	upTo, said, ok := d.target(r.PerByte)
	if !ok {
		return nil
	}
	if how == agent.CompactBackground && d.base.holder.s.hint != nil {
		past := *d.past
		past.Window.Compact, past.Window.Skipped = upTo, 0
		d.past, d.asks = &past, true
		return nil
	}
	found, err := d.base.holder.s.reader.FindSummary(ctx, d.base.holder.Key, upTo) // this step may have been taken before
	if err == nil && found == nil {
		found, err = d.base.holder.s.summaries.Inline(ctx, compaction.Target{
			Key: d.base.holder.Key, Run: d.base.holder.id, UpTo: upTo, Before: d.past.Summary, Agent: d.base.agent, Model: d.base.model,
		}, said)
	}
	switch {
	case core.CodeOf(err) == core.CodeSchema:
		d.skip(ctx, upTo, skippedNewer, "error", err)
	case core.CodeOf(err) == core.CodeCorrupt:
		d.skip(ctx, upTo, skippedCorrupt, "error", err)
	case err != nil:
		return err
	case found == nil:
		d.skip(ctx, upTo, thread.SkippedModel)
	default:
		d.settle(ctx, found)
		d.shown = d.soFar()
	}
	return nil
}

// recompact does what a fixed window says that the step did.
func (d *draft) recompact(ctx context.Context, w *core.Window) error {
	if w == nil {
		return nil
	}
	if w.Summary > d.past.Summary.Covers() {
		found, err := d.base.holder.s.reader.FindSummary(ctx, d.base.holder.Key, w.Summary)
		if err != nil || found == nil {
			return err
		}
		d.settle(ctx, found)
		d.shown = d.soFar()
	}
	past := *d.past
	past.Window.Compact, past.Window.Skipped = w.Compact, w.Skipped
	d.past, d.noted = &past, past.SummaryNote()
	return nil
}

// compactAgain is how many log records must have come behind a target that came to
// nothing, or has not come yet, until a step names another one.
const compactAgain = 32

// leastCompacted is which part of the threshold the messages must cost of which a summary
// is made: less is not worth a call of the model, nor that the provider reads all that
// follows anew.
const leastCompacted = 4

// target returns the closed turn up to which the conversation is to be summarised now,
// and what was said up to it behind the summary in force. false: there is too little to
// sum up, or a summary was asked for not long ago.
func (d *draft) target(perByte int) (upTo uint64, said window.History, ok bool) {
	policy := d.base.agent.Spec.Context.WithDefaults()
	keep := *policy.CompactionRawSuffixMessages
	if policy.CompactionMode == agent.CompactToSafeFrontier {
		keep = 0
	}
	committed := d.past.Places.Len() - d.past.First
	all := window.History{Messages: d.shown.Messages[:committed], Places: d.shown.Places[:committed]}
	upTo, n, ok := window.Target(all, keep)
	if !ok {
		return 0, said, false
	}
	if last := max(d.past.Window.Compact, d.past.Window.Skipped); last > 0 && upTo < last+compactAgain {
		return 0, said, false
	}
	said = window.History{Messages: all.Messages[:n], Places: all.Places[:n]}
	return upTo, said, window.ReckonAll(said.Messages, perByte) >= policy.AutocompactThreshold/leastCompacted
}

// newlySummed is the summary that the draft's commit puts in force, and the schema of its
// record; 0: it leaves the one that is.
func (d *draft) newlySummed() (upTo uint64, schema uint16) {
	if d.past == nil { // of a run that cannot be read
		return 0, 0
	}
	if upTo = d.past.Summary.Covers(); upTo == 0 || upTo == d.base.holder.head.Summary {
		return 0, 0
	}
	return upTo, d.past.Summary.Schema
}

// meterSummary adds what a model has used for a summary to what the run has used, in the
// step that finds it, and in no step behind that. It is in no turn of the run's. Where the
// step is taken back that found one of no use, the run that comes in its place finds it
// again, and has it in its usage as well.
func (d *draft) meterSummary(s *checkpoint.Summary) {
	d.totals = d.base.holder.account.AddSummary(d.totals, thread.ModelUse{
		Model: s.Model, Provider: s.Provider, Usage: s.Usage, Inferences: s.Calls, Millis: s.Duration,
	})
}
