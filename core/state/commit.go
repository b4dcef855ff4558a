package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/stateerror"
)

// Commit applies the batch in order, all of it or nothing. It returns the next
// snapshot, bound as s is, and the patch from s to it, whose revision is the
// next one; a batch that changes nothing that is stored returns no patch and keeps
// the revision, so that one revision names one state. A batch for another revision
// has code conflict; a key that is not registered is an error that names it; a
// key of ScopeCall with an unbound snapshot is an error; an update or a
// value that does not decode has code corrupt; a panic of Apply is an
// *env.PanicError.
func (r *Registry) Commit(s Snapshot, b Batch) (Snapshot, Patch, error) {
	if b.IsZero() {
		return s, nil, nil
	}
	var room [4]draft // most batches are small
	drafts, err := r.draft(room[:0], s, b)
	if err != nil {
		return Snapshot{}, nil, fmt.Errorf("committing state: %w", err)
	}
	var patch Patch
	for i := range drafts {
		if !drafts[i].transient {
			patch = drafts[i].appendTo(patch)
		}
	}
	next := s
	if len(patch) > 0 {
		next.revision++
		next.values = replaced(s.values, drafts, false)
	}
	changed := len(patch) > 0
	if slices.ContainsFunc(drafts, func(t draft) bool { return t.transient }) {
		next.transient = replaced(s.transient, drafts, true)
		changed = true
	}
	if changed {
		r.notify(s, next, patch)
	}
	return next, patch, nil
}

// draft applies a batch and returns the new value of each key, in the order in which the
// keys are first touched. A key that can be refused by its name alone is refused before any
// Apply runs.
func (r *Registry) draft(drafts []draft, s Snapshot, b Batch) ([]draft, error) {
	if b.Base != nil && *b.Base != s.revision {
		return nil, &stateerror.Revision{Expected: *b.Base, Actual: s.revision}
	}
	for _, m := range b.Mutations {
		if !r.Has(m.Key) {
			return nil, fmt.Errorf("%w %q", stateerror.ErrUnknownKey, m.Key)
		}
	}
	for _, m := range b.Mutations {
		d := r.definitions[m.Key]
		path, err := s.path(d.name, d.scope)
		if err != nil {
			return nil, err
		}
		// There are as many drafts as keys, at most: few enough to look through.
		i := slices.IndexFunc(drafts, func(t draft) bool { return t.path == path })
		if i < 0 {
			i = len(drafts)
			before := s.in(d.transient)[path].bytes()
			drafts = append(drafts, draft{path: path, transient: d.transient, before: before, value: before, exact: true})
		}
		if err := drafts[i].mutate(d, m); err != nil {
			return nil, err
		}
	}
	return drafts, nil
}

// replaced returns values with the changes of the drafts.
func replaced(values map[KeyPath]*value, drafts []draft, transient bool) map[KeyPath]*value {
	next := make(map[KeyPath]*value, len(values)+len(drafts))
	for path, v := range values {
		next[path] = v
	}
	for i := range drafts {
		switch t := &drafts[i]; {
		case t.transient != transient:
		case t.value == nil:
			delete(next, t.path)
		default:
			next[t.path] = newValue(t.value)
		}
	}
	return next
}

// draft is what a commit makes of one key.
type draft struct {
	path      KeyPath
	transient bool
	before    json.RawMessage // nil: absent
	value     json.RawMessage
	edits     []edit
	exact     bool // edits lead from before to value, and there is one
	weigh     bool // a diff may be smaller than they are
}

func (t *draft) mutate(d Definition, m Mutation) error {
	switch {
	case len(m.Update) == 0 && len(m.Value) == 0:
		t.value, t.exact = nil, false
		return nil
	case len(m.Update) == 0:
		value, err := canonical(m.Value)
		if err != nil {
			return core.Errorf(core.CodeCorrupt, "decoding the value of state key %q: %w", m.Key, err)
		}
		t.value, t.exact = value, false
		return nil
	}
	var next json.RawMessage
	var edits []edit
	err := env.Protect(func() (err error) {
		next, edits, err = d.change(t.value, m.Update)
		return err
	})
	if err != nil {
		var panicked *env.PanicError
		if errors.As(err, &panicked) {
			return fmt.Errorf("applying an update of state key %q: %w", m.Key, err)
		}
		return err
	}
	if t.edits == nil {
		t.edits = edits
	} else {
		t.edits = append(t.edits, edits...)
	}
	t.value, t.exact, t.weigh = next, t.exact && edits != nil, d.weigh
	return nil
}

// appendTo appends the edits where they are known, else the smaller of a diff and
// a replacement.
func (t *draft) appendTo(patch Patch) Patch {
	if !t.exact || t.before == nil {
		d := difference(t.path, t.before, t.value)
		if patch == nil {
			return d
		}
		return append(patch, d...)
	}
	at := t.path.String()
	begin := len(patch)
	patch = slices.Grow(patch, len(t.edits))
	for _, e := range t.edits {
		patch = append(patch, Operation{Op: e.op, Path: at + e.path, Value: e.value})
	}
	if t.weigh && len(t.edits) > 1 {
		if d := difference(t.path, t.before, t.value); d.size() < patch[begin:].size() {
			patch = append(patch[:begin], d...)
		}
	}
	return patch
}

type listener struct {
	told     func(before, after Snapshot, patch Patch)
	panicked func(error)
}

// Listen returns a registry that calls told after every commit that changes something,
// before Commit returns. told receives the snapshots before and after it, which have one
// revision when only transient values changed, and the patch between them. A panic of told
// changes nothing for the committer; panicked, unless it is nil, receives it: an
// *env.PanicError.
//
// A commit is one of a step's draft: it may never be stored, and a step that is repeated
// makes it again. Only the log counts.
func (r *Registry) Listen(told func(before, after Snapshot, patch Patch), panicked func(error)) *Registry {
	next := *r
	next.listeners = append(slices.Clip(r.listeners), listener{told, panicked})
	return &next
}

func (r *Registry) notify(before, after Snapshot, patch Patch) {
	for _, l := range r.listeners {
		err := env.Protect(func() error {
			l.told(before, after, patch)
			return nil
		})
		if err != nil && l.panicked != nil {
			l.panicked(fmt.Errorf("telling of a commit of state: %w", err))
		}
	}
}
