package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/window"
)

// summary is a stored summary, and as a model reads it. It never changes.
type summary struct {
	thread.Summary
	upTo    uint64
	schema  uint16 // of its record
	message core.Message
}

func (s *Stepper) newSummary(upTo uint64, stored *thread.Summary, payload []byte) (*summary, error) {
	schema, err := s.records.Schema(payload)
	return &summary{Summary: *stored, upTo: upTo, schema: schema, message: window.SummaryMessage(upTo, stored.Text)}, err
}

// findSummary reads the summary up to a sequence; nil: there is none.
func (s *Stepper) findSummary(ctx context.Context, key core.ThreadKey, upTo uint64) (*summary, error) {
	record, ok, err := s.store.Get(ctx, key, store.SummaryName(upTo))
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	if !ok {
		return nil, nil
	}
	stored, err := s.records.DecodeSummary(upTo, record.Payload)
	if err != nil {
		return nil, err
	}
	return s.newSummary(upTo, &stored, record.Payload)
}

// readSummary reads one that is or was in force: it was put before the head that named
// it.
func (s *Stepper) readSummary(ctx context.Context, key core.ThreadKey, upTo uint64) (*summary, error) {
	found, err := s.findSummary(ctx, key, upTo)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fmt.Errorf("summary %s is missing: %w", store.SummaryName(upTo), store.ErrCorrupt)
	case found.Skipped != "":
		return nil, fmt.Errorf("summary %s is in force and has no text: %w", store.SummaryName(upTo), store.ErrCorrupt)
	}
	return found, nil
}

// summaryAt returns the summary of the log up to a sequence: the one in force, or the
// newest before it that ends no later; nil: there is none.
func (l *loaded) summaryAt(ctx context.Context, seq uint64) (*summary, error) {
	upTo := l.head.Summary
	for upTo > 0 {
		if c := l.conversation; c != nil && c.summary != nil && c.summary.upTo == upTo && upTo <= seq {
			return c.summary, nil
		}
		found, err := l.readSummary(ctx, l.Key, upTo)
		if err != nil {
			return nil, err
		}
		if upTo <= seq {
			return found, nil
		}
		upTo = found.Predecessor
	}
	return nil, nil
}

// covers is the sequence that a summary is up to; 0: there is none.
func (s *summary) covers() uint64 {
	if s == nil {
		return 0
	}
	return s.upTo
}

// shown is the summary as a model reads it; nil: there is none.
func (s *summary) shown() *core.Message {
	if s == nil {
		return nil
	}
	return &s.message
}

// adopt looks for the summary that the newest turn has asked for, and takes it into the
// draft if it has come: one read, and none where nothing is asked for. It comes behind
// the input, since a turn that the input takes back asks for nothing any more.
func (d *draft) adopt(ctx context.Context) error {
	asked := d.past.window.Compact
	if asked <= d.past.summary.covers() {
		return nil
	}
	if d.history != nil { // it may have come later than it is there
		if w := d.history.Window(d.id, d.events.Step()); w == nil || w.Summary != asked && w.Skipped != asked {
			return nil
		}
	}
	found, err := d.findSummary(ctx, d.Key, asked)
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
func (d *draft) settle(ctx context.Context, s *summary) {
	d.meterSummary(s)
	switch {
	case s.Skipped != "":
		d.skip(ctx, s.upTo, s.Skipped)
	case s.Predecessor != d.past.summary.covers():
		d.skip(ctx, s.upTo, skippedStale)
	default:
		past, first := *d.past, d.past.first
		past.window.Compact, past.window.Skipped = 0, 0
		past.under(s)
		d.noted = past.noteSummary()
		d.settled = append(d.settled, d.compacted(s, d.messages.items[:past.first-first]))
		d.past, d.messages = &past, d.messages.without(past.first-first)
	}
}

// compacted says what a summary saves that takes the place of messages and of the one
// before it.
func (d *draft) compacted(s *summary, covered []core.Message) core.Event {
	perByte := d.agent.Room().PerByte
	before := window.ReckonAll(covered, perByte)
	if last := d.past.summary; last != nil {
		before += window.ReckonAll([]core.Message{last.message}, perByte)
	}
	return core.Event{
		Type: core.EventContextCompacted, UpTo: s.upTo, TokensBefore: before, TokensAfter: window.ReckonAll([]core.Message{s.message}, perByte),
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
	past.window.Compact, past.window.Skipped = 0, upTo
	d.past, d.noted = &past, past.noteSummary()
	d.settled = append(d.settled, core.Event{Type: core.EventContextSkipped, UpTo: upTo, Reason: reason})
	d.warn(ctx, "the thread is not summarised", append([]any{"up_to", upTo, "reason", reason}, attrs...)...)
}

// noteSummary is what a step has come to about summaries, for the record of an inference
// that fails: without it each step behind that would look for the same summary, tell of it
// and meter it again. What the step asks for is not in it, the next one asks again.
func (c *conversation) noteSummary() *core.Window {
	return &core.Window{Summary: c.summary.covers(), Compact: c.window.Compact, Skipped: c.window.Skipped}
}

// announceSummaries tells once in a step what became of the summaries that it has looked
// for: it looks before its stream has begun.
func (d *draft) announceSummaries() {
	for _, e := range d.settled {
		d.events.Emit(e)
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
	if d.history != nil {
		return d.recompact(ctx)
	}
	how := compactionOf(d.agent)
	if how == agent.CompactOff {
		return nil
	}
	r := d.reckoning(request, d.beside)
	if r.Size() < min(d.agent.Spec.Context.AutocompactThreshold, r.Limit) {
		return nil
	}
	upTo, said, ok := d.target(r.PerByte)
	if !ok {
		return nil
	}
	if how == agent.CompactBackground && d.hint != nil {
		past := *d.past
		past.window.Compact, past.window.Skipped = upTo, 0
		d.past, d.asks = &past, true
		return nil
	}
	found, err := d.findSummary(ctx, d.Key, upTo) // this step may have been taken before
	if err == nil && found == nil {
		c := &compaction{Stepper: d.Stepper, key: d.Key, run: d.id, upTo: upTo, before: d.past.summary, agent: d.agent, model: d.model}
		found, err = c.inline(ctx, said)
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

// recompact does what the step did that is replayed.
func (d *draft) recompact(ctx context.Context) error {
	w := d.history.Window(d.id, d.events.Step())
	if w == nil {
		return nil
	}
	if w.Summary > d.past.summary.covers() {
		found, err := d.findSummary(ctx, d.Key, w.Summary)
		if err != nil || found == nil {
			return err
		}
		d.settle(ctx, found)
		d.shown = d.soFar()
	}
	past := *d.past
	past.window.Compact, past.window.Skipped = w.Compact, w.Skipped
	d.past, d.noted = &past, past.noteSummary()
	return nil
}

// inline makes the summary within a step; nil: there is none.
func (c *compaction) inline(ctx context.Context, h window.History) (*summary, error) {
	made, err := c.make(ctx, h)
	if err != nil || made == nil {
		return nil, err
	}
	return c.put(ctx, made)
}

// target returns the closed turn up to which the conversation is to be summarised now,
// and what was said up to it behind the summary in force. false: there is too little to
// sum up, or a summary was asked for not long ago.
func (d *draft) target(perByte int) (upTo uint64, said window.History, ok bool) {
	policy := d.agent.Spec.Context.WithDefaults()
	keep := *policy.CompactionRawSuffixMessages
	if policy.CompactionMode == agent.CompactToSafeFrontier {
		keep = 0
	}
	committed := d.past.places.len() - d.past.first
	all := window.History{Messages: d.shown.Messages[:committed], Places: d.shown.Places[:committed]}
	upTo, n, ok := window.Target(all, keep)
	if !ok {
		return 0, said, false
	}
	if last := max(d.past.window.Compact, d.past.window.Skipped); last > 0 && upTo < last+compactAgain {
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
	if upTo = d.past.summary.covers(); upTo == 0 || upTo == d.head.Summary {
		return 0, 0
	}
	return upTo, d.past.summary.schema
}

// meterSummary adds what a model has used for a summary to what the run has used, in the
// step that finds it, and in no step behind that. It is in no turn of the run's. Where the
// step is taken back that found one of no use, the run that comes in its place finds it
// again, and has it in its usage as well.
func (d *draft) meterSummary(s *summary) {
	if d.books.Meters() && s.Calls > 0 {
		d.totals.Metered = d.totals.Metered.With(thread.ModelUse{
			Model: s.Model, Provider: s.Provider, Usage: s.Usage, Inferences: s.Calls, Millis: s.Duration,
		})
	}
}
