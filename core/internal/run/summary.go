package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// adopt looks for the summary that the newest turn has asked for, and takes it into
// the draft if it has come: one read, and none if no summary was requested. It
// comes after the input, since a turn that the input supersedes asks for nothing
// any more.
func (p *prompt) adopt(ctx context.Context) error {
	asked := p.draft.past.Window.Compact
	if asked <= p.draft.past.Summary.Covers() {
		return nil
	}
	// It may have come later than it is there.
	if w, fixed := p.holder.s.choices.Summary(p.holder.id, p.draft.step); fixed && (w == nil || w.Summary != asked && w.Skipped != asked) {
		return nil
	}
	found, err := p.holder.s.reader.FindSummary(ctx, p.holder.Key, asked)
	switch {
	case core.CodeOf(err) == core.CodeSchema: // a newer program's: only that program uses it
		return nil
	case core.CodeOf(err) == core.CodeCorrupt: // nothing depends on it yet
		p.skip(ctx, asked, skippedCorrupt, "error", err)
		return nil
	case err != nil || found == nil:
		return err
	}
	p.useSummary(ctx, found)
	return nil
}

// useSummary takes a new summary into the draft, or notes that it does not exist.
func (p *prompt) useSummary(ctx context.Context, s *checkpoint.Summary) {
	if s.Foreign(p.holder.head.Incarnation) {
		p.skip(ctx, s.UpTo, skippedCorrupt, "error", "the summary is that of another thread, of which a refused fork left a copy")
		return
	}
	p.meterSummary(s)
	switch {
	case s.Skipped != "":
		p.skip(ctx, s.UpTo, s.Skipped)
	case s.Predecessor != p.draft.past.Summary.Covers():
		p.skip(ctx, s.UpTo, skippedStale)
	default:
		past, first := *p.draft.past, p.draft.past.First
		past.Window.Compact, past.Window.Skipped = 0, 0
		past.Under(s)
		p.noted = past.SummaryNote()
		p.settled = append(p.settled, p.compacted(s, p.draft.messages.Slice()[:past.First-first]))
		p.draft.replacePast(&past)
	}
}

// compacted is the event of a summary that takes the place of messages and of the
// previous summary, with the tokens that it saves.
func (p *prompt) compacted(s *checkpoint.Summary, covered []core.Message) core.Event {
	perByte := p.base.agent.Room().PerByte
	before := window.ReckonAll(covered, perByte)
	if last := p.draft.past.Summary; last != nil {
		before += window.ReckonAll([]core.Message{last.Message}, perByte)
	}
	return core.Event{
		Type: core.EventContextCompacted, UpTo: s.UpTo, TokensBefore: before, TokensAfter: window.ReckonAll([]core.Message{s.Message}, perByte),
	}
}

// Reasons why a summary is not used, which no record has.
const (
	skippedStale   = "stale"   // it continues another one than the one in force
	skippedCorrupt = "corrupt" // its record is damaged, or another thread's
	skippedNewer   = "newer"   // only a newer program can read its record
)

// skip notes that there is no summary up to a sequence.
func (p *prompt) skip(ctx context.Context, upTo uint64, reason string, attrs ...any) {
	past := *p.draft.past
	past.Window.Compact, past.Window.Skipped = 0, upTo
	p.draft.replacePast(&past)
	p.noted = past.SummaryNote()
	p.settled = append(p.settled, core.Event{Type: core.EventContextSkipped, UpTo: upTo, Reason: reason})
	p.holder.warn(ctx, "thread not summarized", append([]any{"up_to", upTo, "reason", reason}, attrs...)...)
}

// announceSummaries emits once in a step the fate of the summaries that it has
// looked for: it looks before its stream has started.
func (p *prompt) announceSummaries() {
	for _, e := range p.settled {
		p.holder.events.Emit(e)
	}
	p.settled = nil
}

// compact asks for a summary where the step's request would be over the agent's
// threshold, or makes it. It comes once in a step, before it is decided what the request
// shows.
func (p *prompt) compact(ctx context.Context, request *model.Request) error {
	if p.window != nil {
		return nil
	}
	p.shown = p.draft.soFar()
	if w, fixed := p.holder.s.choices.Summary(p.holder.id, p.draft.step); fixed {
		return p.recompact(ctx, w)
	}
	how := compaction.ModeOf(p.base.agent)
	if how == compaction.Off {
		return nil
	}
	r := p.reckoning(request, p.beside, p.known())
	if r.Size() < min(p.base.agent.Spec.Context.AutocompactThreshold, r.Limit) {
		return nil
	}
	upTo, said, ok := p.target(r.PerByte)
	if !ok {
		return nil
	}
	// After the commit of this turn a summary is requested (Options.Compact); a
	// later step looks whether it has come, see adopt.
	if how == compaction.Background && p.holder.s.hint != nil {
		past := *p.draft.past
		past.Window.Compact, past.Window.Skipped = upTo, 0
		p.draft.replacePast(&past)
		p.asks = true
		return nil
	}
	found, err := p.holder.s.reader.FindSummary(ctx, p.holder.Key, upTo) // this step may have been taken before
	if err == nil && found == nil {
		found, err = p.holder.s.summaries.Inline(ctx, compaction.Target{
			Key: p.holder.Key, Incarnation: p.holder.head.Incarnation, Run: p.holder.id, UpTo: upTo, Before: p.draft.past.Summary, Agent: p.base.agent, Model: p.model,
		}, said)
	}
	switch {
	case core.CodeOf(err) == core.CodeSchema:
		p.skip(ctx, upTo, skippedNewer, "error", err)
	case core.CodeOf(err) == core.CodeCorrupt:
		p.skip(ctx, upTo, skippedCorrupt, "error", err)
	case err != nil:
		return err
	case found == nil:
		p.skip(ctx, upTo, thread.SkippedModel)
	default:
		p.useSummary(ctx, found)
		p.shown = p.draft.soFar()
	}
	return nil
}

// recompact repeats the step's decision in a fixed window.
func (p *prompt) recompact(ctx context.Context, w *core.Window) error {
	if w == nil {
		return nil
	}
	if w.Summary > p.draft.past.Summary.Covers() {
		found, err := p.holder.s.reader.FindSummary(ctx, p.holder.Key, w.Summary)
		if err != nil || found == nil {
			return err
		}
		p.useSummary(ctx, found)
		p.shown = p.draft.soFar()
	}
	past := *p.draft.past
	past.Window.Compact, past.Window.Skipped = w.Compact, w.Skipped
	p.draft.replacePast(&past)
	p.noted = past.SummaryNote()
	return nil
}

// compactAgain is how many log records must follow a target without a summary,
// failed or pending, until a step names another one.
const compactAgain = 32

// leastCompacted is the part of the threshold that the messages of a summary must
// cost at least. Less is not worth a call of the model, nor that the provider reads
// everything after it again.
const leastCompacted = 4

// target returns the closed turn up to which the conversation is to be summarized
// now, and the messages up to it since the summary in force. false: there is too
// little to summarize, or a summary was requested not long ago.
func (p *prompt) target(perByte int) (upTo uint64, said window.History, ok bool) {
	policy := p.base.agent.Spec.Context.WithDefaults()
	committed := p.draft.past.Places.Len() - int(p.draft.past.First)
	all := window.History{Messages: p.shown.Messages[:committed], Places: p.shown.Places[:committed]}
	upTo, n, ok := window.Target(all, *policy.CompactionRawSuffixMessages)
	if !ok {
		return upTo, said, false
	}
	if last := max(p.draft.past.Window.Compact, p.draft.past.Window.Skipped); last > 0 && upTo < last+compactAgain {
		return upTo, said, false
	}
	said = window.History{Messages: all.Messages[:n], Places: all.Places[:n]}
	return upTo, said, window.ReckonAll(said.Messages, perByte) >= policy.AutocompactThreshold/leastCompacted
}

// meterSummary adds the usage of a model for a summary to the usage of the run, in
// the step that finds it, and in no later step. It is in no turn of the run's. If
// the step that found it is superseded, the next run in its place finds it again,
// and has it in its usage as well.
func (p *prompt) meterSummary(s *checkpoint.Summary) {
	p.draft.totals = p.holder.account.AddSummary(p.draft.totals, core.ModelUse{
		Model: s.Model, Provider: s.Provider, Usage: s.Usage, Inferences: s.Calls, Millis: s.Duration,
	})
}
