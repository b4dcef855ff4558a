package run

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// The state of a thread is what its log folds to. S# saves a cold step the fold of
// the whole log: a manifest and a record for each value, put by a step after its
// commit, without a head write. Nothing waits for it and nothing depends on it.

// defaultSnapshot is how many turns of a thread go by between two stored
// snapshots of its state.
const defaultSnapshot = 16

// maxSnapshotKeys bounds the snapshot that a step reads at once.
const maxSnapshotKeys = 1000

// manifest is the payload of S#: which values the state had after a sequence,
// and after which sequence each was stored last. The values have records of
// their own, so that only those that change are written again.
type manifest struct {
	Run      core.ID `json:"run,omitzero"`
	Step     int     `json:"step,omitempty"`
	AsOf     uint64  `json:"as_of"`
	Revision uint64  `json:"revision"`
	// Found says that it is as the next run found the thread: the values of Run, which
	// stood at the sequence, are left out.
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
	return state.NewFold(state.Restore(s.Revision, s.values))
}

// skipUntil passes over the changes of keys whose value is newer than the
// manifest, as long as *seq is not past it.
func (s snapshot) skipUntil(f *state.Fold, seq *uint64) {
	f.Skip = func(key state.KeyPath) bool { return *seq <= s.after[key] }
}

// readSnapshot reads the thread's stored state. It is a cache: whatever is
// wrong with it, or missing, the log says the same, only longer. Only a newer
// program's is an error, since its log is one, too.
//
// The list may lag behind and its items be of different ages, so each value is
// held against the manifest: an older one than the manifest says is not usable,
// a newer one is (see skipUntil), as long as the head covers it.
func (l *loaded) readSnapshot(ctx context.Context, seq uint64) (snapshot, error) {
	if seq == 0 {
		return snapshot{}, nil
	}
	// One list instead of a read for each key: it may lag, which the ages show.
	records, err := l.store.Records(ctx, l.Key, store.SnapshotName, "", maxSnapshotKeys)
	if err != nil {
		return snapshot{}, fmt.Errorf("read state snapshot: %w", err)
	}
	byName := make(map[string]store.Record, len(records))
	for _, r := range records {
		byName[r.Name] = r
	}
	none := snapshot{}
	record, ok := byName[store.SnapshotName]
	if !ok {
		return none, nil
	}
	var s snapshot
	if err := l.records.Decode("state snapshot", record.Payload, &s.manifest); err != nil {
		return none, l.unusable(ctx, err)
	}
	if s.AsOf > seq {
		return none, nil // a later holder's: the next write will say that the claim is lost
	}
	s.asOf, s.values, s.after = s.AsOf, make(map[state.KeyPath]json.RawMessage, len(s.Keys)), make(map[state.KeyPath]uint64, len(s.Keys))
	for key, asOf := range s.Keys {
		var v snapshotValue
		record, ok := byName[store.SnapshotValueName(key.String())]
		if ok {
			err = l.records.Decode("state snapshot", record.Payload, &v)
		}
		if !ok || err != nil || v.AsOf < asOf || v.AsOf > seq {
			return none, l.unusable(ctx, err) // the list lags, or the head does
		}
		s.values[key], s.after[key] = v.Value, v.AsOf
	}
	return s, nil
}

// unusable passes over a snapshot that cannot be used, unless it is a newer
// program's: then this one must leave the thread alone.
func (l *loaded) unusable(ctx context.Context, err error) error {
	if core.CodeOf(err) == core.CodeSchema {
		return err
	}
	if err != nil {
		l.warn(ctx, "state snapshot is unusable, the log is read instead", "error", err)
	}
	return nil
}

// storeSnapshot stores the state: in a run's first step that in which the run
// found the thread, if it has changed since the last time, so that the run can be
// taken back at little cost; in others the newest, when enough turns have gone by.
// It comes after a commit, of another step than the state's or of the same, and
// often after the claim: a later claim's snapshot has the higher fence and refuses
// this one. A failure costs a later cold step time, nothing else.
func (d *draft) storeSnapshot(ctx context.Context) {
	c, of := d.conversation, d.starting
	d.starting = nil
	var values state.Snapshot
	switch {
	case of.unsaved():
		values = of.snapshot.BeginRun() // what else it had has ended
	case c.turns >= d.snapshotEvery:
		of, values = c, c.snapshot
	default:
		return
	}
	next, err := d.putSnapshot(ctx, of, values)
	if err != nil {
		d.warn(ctx, "state snapshot was not stored", "error", err)
		return
	}
	if next == nil {
		return
	}
	after := *c
	after.stored, after.turns = *next, max(0, c.turns-of.turns)
	after.changed = maps.Clone(c.changed)
	maps.DeleteFunc(after.changed, func(_ state.KeyPath, seq uint64) bool { return seq <= next.AsOf })
	d.conversation = &after
	d.cache.put(d.Key, d.conversation) // else the next step would store it again
}

// unsaved reports whether state that outlives its run has changed since it was
// stored.
func (c *conversation) unsaved() bool {
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

// putSnapshot stores values as the state of a conversation and returns the
// manifest; nil when there are too many keys.
//
// Values go first and the manifest last, so that a manifest never names a value
// that is not there. Only keys that changed are written again: a large one that
// stands still costs nothing.
func (d *draft) putSnapshot(ctx context.Context, c *conversation, values state.Snapshot) (*manifest, error) {
	next := manifest{Run: c.run, Step: c.step, AsOf: c.seq, Revision: values.Revision(), Found: c != d.conversation, Keys: map[state.KeyPath]uint64{}}
	var records []store.Record
	for _, path := range values.Paths() {
		asOf, stored := c.stored.Keys[path]
		if _, changed := c.changed[path]; changed || !stored {
			asOf = c.seq
			value, _ := values.Value(path)
			record, err := d.snapshotRecord(store.SnapshotValueName(path.String()), snapshotValue{AsOf: asOf, Value: value})
			if err != nil {
				return nil, err
			}
			records = append(records, record)
		}
		next.Keys[path] = asOf
	}
	if len(next.Keys) > maxSnapshotKeys-1 {
		return nil, nil
	}
	top, err := d.snapshotRecord(store.SnapshotName, next)
	if err == nil {
		err = d.put(ctx, records...)
	}
	if err == nil {
		err = d.put(ctx, top)
	}
	return &next, err
}

// snapshotRecord has fence and version of the head that the step knows: an older
// step's snapshot never replaces a newer one's.
func (d *draft) snapshotRecord(name string, v any) (store.Record, error) {
	payload, err := d.records.Encode("state snapshot", v)
	return store.Record{Name: name, Fence: d.fence(), Version: d.head.Version, Payload: payload}, err
}
