package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
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

// upTo is the sequence that a summary covers; 0: there is none.
func (s *summary) covers() uint64 {
	if s == nil {
		return 0
	}
	return s.upTo
}

// adopt looks for the summary that the newest turn has asked for, and takes it into the
// draft if it has come: one read, and none where nothing is asked for. It comes behind
// the input, since a turn that the input takes back asks for nothing any more.
func (d *draft) adopt(ctx context.Context) error {
	asked := d.shown.Compact
	if asked <= d.summary.covers() {
		d.shown.Compact = 0
		return nil
	}
	found, err := d.findSummary(ctx, d.Key, asked)
	switch {
	case core.CodeOf(err) == core.CodeSchema: // a newer program's: it uses it, or nobody does
		return nil
	case core.CodeOf(err) == core.CodeCorrupt: // nothing depends on it yet
		d.skip(ctx, asked, err.Error())
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
	d.shown.Compact = 0
	switch {
	case s.Skipped != "":
		d.skip(ctx, s.upTo, s.Skipped)
		return
	case s.Predecessor != d.summary.covers():
		d.skip(ctx, s.upTo, "stale")
		return
	}
	n, _ := slices.BinarySearch(d.seqs.items, s.upTo+1)
	d.messages, d.seqs, d.summary = d.messages.without(n), d.seqs.without(n), s
	d.shown.Skipped = 0
}

// skip notes that there is no summary up to a sequence.
func (d *draft) skip(ctx context.Context, upTo uint64, reason string) {
	d.shown.Compact, d.shown.Skipped = 0, upTo
	d.warn(ctx, "the thread is not summarised", "up_to", upTo, "reason", reason)
}

// compact asks for a summary where the conversation is over the agent's threshold, or
// makes it.
func (d *draft) compact(ctx context.Context) error {
	how := compactionOf(d.agent)
	if how == agent.CompactOff {
		return nil
	}
	upTo, said, ok := d.target()
	if !ok {
		return nil
	}
	if how == agent.CompactBackground && d.hint != nil {
		d.shown.Compact, d.shown.Skipped, d.asks = upTo, 0, true
		return nil
	}
	found, err := d.findSummary(ctx, d.Key, upTo) // this step may have been taken before
	if err == nil && found == nil {
		c := &compaction{Stepper: d.Stepper, key: d.Key, run: d.id, upTo: upTo, before: d.summary, agent: d.agent, model: d.model}
		found, err = c.inline(ctx, said)
	}
	switch {
	case err != nil:
		return err
	case found == nil:
		d.skip(ctx, upTo, thread.SkippedModel)
	default:
		d.settle(ctx, found)
	}
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
// and what was said up to it behind the summary in force. false: it is below the
// threshold, or there is too little to sum up, or a summary was asked for not long ago.
func (d *draft) target() (upTo uint64, said window.History, ok bool) {
	policy := d.agent.Spec.Context.WithDefaults()
	tokens := 0
	for _, m := range d.prompt() {
		tokens += d.window.Tokens(m)
	}
	if tokens < policy.AutocompactThreshold {
		return 0, said, false
	}
	keep := *policy.CompactionRawSuffixMessages
	if policy.CompactionMode == agent.CompactToSafeFrontier {
		keep = 0
	}
	all := window.History{Messages: d.messages.slice()[:d.seqs.len()], Sequences: d.seqs.slice()}
	upTo, n, ok := window.Target(all, keep)
	if !ok {
		return 0, said, false
	}
	if last := max(d.shown.Compact, d.shown.Skipped); last > 0 && upTo < last+compactAgain {
		return 0, said, false
	}
	said = window.History{Messages: all.Messages[:n], Sequences: all.Sequences[:n]}
	tokens = 0
	for i := range said.Messages {
		tokens += d.window.Tokens(said.Messages[i])
	}
	return upTo, said, tokens >= policy.AutocompactThreshold/leastCompacted
}

// newlySummed is the summary that the draft's commit puts in force, and the schema of its
// record; 0: it leaves the one that is.
func (d *draft) newlySummed() (upTo uint64, schema uint16) {
	if upTo = d.summary.covers(); upTo == 0 || upTo == d.head.Summary {
		return 0, 0
	}
	return upTo, d.summary.schema
}

// turnWindow is what the turn's record says of what its model was shown; nil: all there
// was.
func (d *draft) turnWindow() *core.Window {
	w := d.shown
	w.Summary = d.summary.covers()
	if w == (core.Window{}) {
		return nil
	}
	said := w // what is returned is on the heap
	return &said
}

// meterSummary adds what a model has used for a summary to what the run has used, in the
// one step that uses it. It is in no turn of the run's.
func (d *draft) meterSummary(s *summary) {
	if d.metering != nil && s.Calls > 0 {
		d.totals.Metered = d.totals.Metered.With(thread.ModelUse{
			Model: s.Model, Provider: s.Provider, Usage: s.Usage, Inferences: s.Calls, Millis: s.Duration,
		})
	}
}
