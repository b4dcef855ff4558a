package checkpoint

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/store"
)

// Summary is a stored summary, and as a model reads it. It never changes.
type Summary struct {
	thread.Summary
	UpTo    uint64       // the sequence that it is up to
	Schema  uint16       // of its record
	Message core.Message // as a model reads it
}

// NewSummary returns a summary by its record's payload.
func NewSummary(records thread.Records, upTo uint64, stored *thread.Summary, payload []byte) (*Summary, error) {
	schema, err := records.Schema(payload)
	return &Summary{Summary: *stored, UpTo: upTo, Schema: schema, Message: window.SummaryMessage(upTo, stored.Text)}, err
}

// Covers is the last sequence that a summary covers; 0 for nil.
func (s *Summary) Covers() uint64 {
	if s == nil {
		return 0
	}
	return s.UpTo
}

// Shown is the summary as a model reads it; nil: no summary.
func (s *Summary) Shown() *core.Message {
	if s == nil {
		return nil
	}
	return &s.Message
}

// FindSummary reads the summary up to a sequence; nil: it does not exist. It may be
// one that has a reason in place of a text.
func (r *Reader) FindSummary(ctx context.Context, key core.ThreadKey, upTo uint64) (*Summary, error) {
	record, ok, err := r.store.Get(ctx, key, recordname.Summary(upTo))
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	if !ok {
		return nil, nil
	}
	stored, err := r.records.DecodeSummary(upTo, record.Payload)
	if err != nil {
		return nil, err
	}
	return NewSummary(r.records, upTo, &stored, record.Payload)
}

// ReadSummary reads a summary that is or was in force: it was put before the head that
// named it, so that its absence is store.ErrCorrupt.
func (r *Reader) ReadSummary(ctx context.Context, key core.ThreadKey, upTo uint64) (*Summary, error) {
	found, err := r.FindSummary(ctx, key, upTo)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fmt.Errorf("summary %s is missing: %w", recordname.Summary(upTo), store.ErrCorrupt)
	case found.Skipped != "":
		return nil, fmt.Errorf("summary %s is in force and has no text: %w", recordname.Summary(upTo), store.ErrCorrupt)
	}
	return found, nil
}

// summaryAt returns the summary of the log up to a sequence: the one in force, or
// the newest before it that ends no later; nil: no such summary.
func (r *Reader) summaryAt(ctx context.Context, at At, seq uint64) (*Summary, error) {
	upTo := at.Head.Summary
	for upTo > 0 {
		if c := at.Known; c != nil && c.Summary != nil && c.Summary.UpTo == upTo && upTo <= seq {
			return c.Summary, nil
		}
		found, err := r.ReadSummary(ctx, at.Key, upTo)
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
