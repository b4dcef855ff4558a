package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// The state of a thread is what its log folds to. S# saves a cold step the fold of
// the whole log: a manifest and a record for each value, put by a step after its
// commit, without a head write. Nothing waits for it and nothing depends on it.

// maxSnapshotKeys bounds the snapshot that a step reads in one go.
const maxSnapshotKeys = 1000

// manifest is the payload of S#: the values that the state had after a sequence,
// and the sequence after which each was stored last. The values have separate
// records, so that only those that change are written again.
type manifest struct {
	Run      core.ID `json:"run,omitzero"`
	Step     int     `json:"step,omitempty"`
	AsOf     uint64  `json:"as_of"`
	Revision uint64  `json:"revision"`
	// Found means that it is the thread as the next run found it: the values of
	// Run, which existed at the sequence, are omitted.
	Found bool                     `json:"found,omitempty"`
	Keys  map[state.KeyPath]uint64 `json:"keys,omitempty"`
}

// snapshotValue is the payload of S#<path>. It says by itself how new it is, since
// it may be of another age than the manifest.
type snapshotValue struct {
	AsOf  uint64          `json:"as_of"`
	Value json.RawMessage `json:"value"`
}

// snapshot is a manifest with its values. A value may be newer than the
// manifest, when the process died between the two: what happened to its key
// until then is in it.
type snapshot struct {
	manifest
	asOf   uint64 // AsOf; 0 when there is no usable snapshot
	values map[state.KeyPath]json.RawMessage
	after  map[state.KeyPath]uint64 // sequence that each value has seen last
}

// fold begins to fold where the snapshot ends.
func (s snapshot) fold() *state.Fold {
	return state.Snapshot{}.With(s.Revision, s.values).Fold()
}

// skipUntil passes over the changes of keys whose value is newer than the
// manifest, as long as *seq is not past it.
func (s snapshot) skipUntil(f *state.Fold, seq *uint64) {
	f.Skip = func(key state.KeyPath) bool { return *seq <= s.after[key] }
}

// readSnapshot reads the thread's stored state. It is a cache: if it is wrong or
// missing, the log has the same content, only longer. Only a newer program's is an
// error, since its log is one, too.
//
// The list may lag and its items be of different ages, so each value is compared
// with the manifest. A value older than its entry is not usable; a newer one is
// (see skipUntil), as long as the head covers it.
func (r *Reader) readSnapshot(ctx context.Context, at At, seq uint64) (snapshot, error) {
	if seq == 0 {
		return snapshot{}, nil
	}
	// One list instead of a read for each key: it may lag, which the ages show.
	records, err := r.store.Records(ctx, at.Key, recordname.Snapshot, "", maxSnapshotKeys)
	if err != nil {
		return snapshot{}, fmt.Errorf("read state snapshot: %w", err)
	}
	byName := make(map[string]store.Record, len(records))
	for _, r := range records {
		byName[r.Name] = r
	}
	none := snapshot{}
	record, ok := byName[recordname.Snapshot]
	if !ok {
		return none, nil
	}
	var s snapshot
	if err := r.records.Decode("state snapshot", record.Payload, &s.manifest); err != nil {
		return none, r.unusable(ctx, at, err)
	}
	if s.AsOf > seq {
		return none, nil // a later holder's: the next write will report that the claim is lost
	}
	s.asOf, s.values, s.after = s.AsOf, make(map[state.KeyPath]json.RawMessage, len(s.Keys)), make(map[state.KeyPath]uint64, len(s.Keys))
	for key, asOf := range s.Keys {
		var v snapshotValue
		record, ok := byName[recordname.SnapshotValue(key.String())]
		if ok {
			err = r.records.Decode("state snapshot", record.Payload, &v)
		}
		if !ok || err != nil || v.AsOf < asOf || v.AsOf > seq {
			return none, r.unusable(ctx, at, err) // the list lags, or the head does
		}
		s.values[key], s.after[key] = v.Value, v.AsOf
	}
	return s, nil
}

// unusable passes over a snapshot that cannot be used, unless it is a newer
// program's: then this one must leave the thread alone.
func (r *Reader) unusable(ctx context.Context, at At, err error) error {
	if core.CodeOf(err) == core.CodeSchema {
		return err
	}
	if err != nil {
		r.warn(ctx, at, "state snapshot unusable, reading the log", "error", err)
	}
	return nil
}

// Unsaved reports whether state that outlives its run has changed since it was stored; of
// nil it has not.
func (c *Conversation) Unsaved() bool {
	if c == nil {
		return false
	}
	for key := range c.changed {
		if key.Scope == state.ScopeThread {
			return true
		}
	}
	return false
}

// Unstored is how many turns have gone by since the state was stored last.
func (c *Conversation) Unstored() int { return int(c.turns) }

// SavedState is a snapshot that is to be stored: the records of the values that have
// changed since the last one, and the manifest's. The values are put first, so that a
// manifest never names a value that is not there. The records have no fence and version
// yet: those of the head that the step knows, so that an older step's snapshot never
// replaces a newer one's.
type SavedState struct {
	Values   []store.Record
	Manifest store.Record
	manifest manifest
	turns    int32 // that had gone by up to it
}

// SaveState makes the records of a snapshot: values are the state after the
// Conversation. found means that they are those that the next run has found,
// without the values that ended with the run before it. Only keys that changed are
// written again: a large one that does not change costs nothing. nil: there are too
// many keys.
func (c *Conversation) SaveState(records thread.Records, values state.Snapshot, found bool) (*SavedState, error) {
	s := &SavedState{turns: c.turns, manifest: manifest{
		Run: c.Run, Step: int(c.Step), AsOf: c.Seq, Revision: values.Revision(), Found: found, Keys: map[state.KeyPath]uint64{},
	}}
	for _, path := range values.Paths() {
		asOf, stored := c.stored[path]
		if _, changed := c.changed[path]; changed || !stored {
			asOf = c.Seq
			value, _ := values.Value(path)
			record, err := snapshotRecord(records, recordname.SnapshotValue(path.String()), snapshotValue{AsOf: asOf, Value: value})
			if err != nil {
				return nil, err
			}
			s.Values = append(s.Values, record)
		}
		s.manifest.Keys[path] = asOf
	}
	if len(s.manifest.Keys) > maxSnapshotKeys-1 {
		return nil, nil
	}
	var err error
	s.Manifest, err = snapshotRecord(records, recordname.Snapshot, s.manifest)
	return s, err
}

// snapshotRecord encodes a value of a snapshot, or its manifest.
func snapshotRecord(records thread.Records, name string, v any) (store.Record, error) {
	payload, err := records.Encode("state snapshot", v)
	return store.Record{Name: name, Payload: payload}, err
}

// StateSaved returns the Conversation with a snapshot that was stored of it, or of an
// earlier one of the thread.
func (c *Conversation) StateSaved(s *SavedState) *Conversation {
	after := *c
	after.stored, after.turns = s.manifest.Keys, max(0, c.turns-s.turns)
	after.changed = maps.Clone(c.changed)
	maps.DeleteFunc(after.changed, func(_ state.KeyPath, seq uint64) bool { return seq <= s.manifest.AsOf })
	return &after
}
