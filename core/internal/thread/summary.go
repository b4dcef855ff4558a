package thread

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Summary is the payload of a record Z#upTo: it replaces the log's messages up to a
// closed turn, in later requests. The record is put once, by the worker that made it,
// and counts when a head names its sequence (Head.Summary). The messages that it
// replaces stay in the log.
//
// Two programs may make one for the same turn, and the text of the first counts. One
// with Skipped has no text: it is never in force, and keeps others from trying again.
type Summary struct {
	// Predecessor is the sequence that the summary covers from which this one was made;
	// 0: none was in force. One that has another predecessor than the one in force is
	// stale, and never comes in force.
	Predecessor uint64 `json:"predecessor,omitempty"`
	// Incarnation is that of the thread for which it was made: see [Head.Incarnation] and
	// [Summary.Foreign]. 0: an older program has made it.
	Incarnation uint64 `json:"incarnation,omitempty"`
	Text        string `json:"text,omitempty"`
	Skipped     string `json:"skipped,omitempty"` // why there is no text: one of the Skipped constants
	// From is the sequence of the oldest message that the text was made from, in
	// addition to the predecessor's; older ones were too much for the model. 0: none.
	From     uint64     `json:"from,omitempty"`
	Model    string     `json:"model,omitempty"`
	Provider string     `json:"provider,omitempty"`
	Usage    core.Usage `json:"usage,omitzero"`
	Calls    int        `json:"calls,omitempty"`    // of the model
	Duration int64      `json:"duration,omitempty"` // of those calls, milliseconds
}

// Why a summary was skipped.
const (
	SkippedSavings = "savings"  // it would have saved too little
	SkippedTooLong = "too_long" // the model had not said all of it at its limit
	SkippedRefused = "refused"  // the model said nothing, or its provider cut it off
	SkippedModel   = "model"    // the model failed permanently
)

// Foreign reports whether a summary that no head has named yet was made for another thread: a
// fork that was refused, or whose process ended, leaves copies under the name that another
// thread has then. In a fork that was made, the head names the copies.
func (s *Summary) Foreign(incarnation uint64) bool {
	return s.Incarnation != 0 && s.Incarnation != incarnation
}

// Check reports what is wrong with the summary up to a sequence.
func (s *Summary) Check(upTo uint64) error {
	switch {
	case upTo == 0 || upTo > MaxSeq:
		return fmt.Errorf("it covers sequence %d, allowed are 1 to %d", upTo, MaxSeq)
	case s.Predecessor >= upTo:
		return fmt.Errorf("it covers sequence %d, its predecessor %d", upTo, s.Predecessor)
	case s.From > upTo:
		return fmt.Errorf("it covers sequence %d and was made from %d on", upTo, s.From)
	case (s.Text == "") == (s.Skipped == ""):
		return fmt.Errorf("want either a text or a reason for its absence")
	}
	return nil
}

// EncodeSummary returns the stored form of a summary up to a sequence.
func (r Records) EncodeSummary(upTo uint64, s *Summary) ([]byte, error) {
	if err := s.Check(upTo); err != nil {
		return nil, core.Errorf(core.CodeInternal, "encode summary: %w", err)
	}
	return r.encode("summary", s)
}

// DecodeSummary reads the summary up to a sequence; errors as for DecodeEntry.
func (r Records) DecodeSummary(upTo uint64, b []byte) (Summary, error) {
	s, err := decode[Summary](r, "summary", b)
	if err != nil {
		return s, err
	}
	if err := s.Check(upTo); err != nil {
		return s, core.Errorf(core.CodeCorrupt, "decode summary: %w", err)
	}
	return s, nil
}
