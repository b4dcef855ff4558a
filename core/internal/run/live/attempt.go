package live

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Attempt is an inference of a step under the fence of a claim.
type Attempt struct {
	Run   core.ID
	Step  int // from 1
	Fence uint64
}

// AttemptOf returns the attempt that the claim in a head is about to make, or
// makes. ok is false without one: no claim is held, the run ends, or the step's
// turn is in the log.
func AttemptOf(head thread.Head) (a Attempt, ok bool) {
	r := &head.Run
	if !head.Open() || head.Claim.Fence == 0 || r.Status == thread.Closing || r.Cursor == thread.CursorTools {
		return a, false
	}
	return Attempt{r.ID, int(r.Step) + 1, head.Claim.Fence}, true
}

// Prefix is the common prefix of the names of the attempt's chunks.
func (a Attempt) Prefix() string { return recordname.Chunks(a.Run, a.Step, a.Fence) }

// Events decodes a chunk of the attempt. The events have the positions that they have in
// the live stream. A record that is not a chunk, or a chunk of another attempt, is an
// error with core.CodeCorrupt; a newer program's chunk is thread.ErrSchema.
func (a Attempt) Events(records thread.Records, chunk store.Record) ([]core.Event, error) {
	var stored chunkRecord
	if err := records.Decode("event chunk", chunk.Payload, &stored); err != nil {
		return nil, err
	}
	events := make([]core.Event, len(stored.Events))
	for i, s := range stored.Events {
		e := s.Event
		e.RunID, e.Step = a.Run, a.Step
		if s.At != "" {
			at, err := position.Parse(a.before() + s.At)
			if err != nil {
				return nil, core.Errorf(core.CodeCorrupt, "event chunk %s: %w", chunk.Name, err)
			}
			e.Position = at.String()
		}
		events[i] = e
	}
	return events, nil
}

// before is what the positions of the attempt begin with.
func (a Attempt) before() string {
	text := position.Position{Run: a.Run, Step: a.Step, Attempt: a.Fence, Kind: position.RunStart}.String()
	return text[:len(text)-len("0-0-a")]
}

// chunkRecord is the payload of a chunk.
type chunkRecord struct {
	Events []chunkEvent `json:"events"`
}

// chunkEvent is an event without what the chunk's name says: run, step and the first
// half of its position.
type chunkEvent struct {
	core.Event
	At string `json:"at,omitempty"` // block-end-kind; empty: it has no position
}
