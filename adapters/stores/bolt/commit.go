package bolt

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Commit implements [store.Backend] in one transaction: a refused call writes nothing.
func (s *Store) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (out store.Outcome, err error) {
	w, err := s.prepareCommit(key, c)
	if err != nil {
		return store.Outcome{}, err
	}
	err = s.update(ctx, func(tx *writeTx) (wrote bool, err error) {
		out, wrote, err = w.apply(tx)
		return wrote, err
	})
	s.listed.note(key, c.Records...)
	if err != nil {
		return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
	}
	return out, nil
}

// commitWrite is a Commit with everything done that needs no file.
type commitWrite struct {
	store.Commit
	s        *Store
	key      core.ThreadKey
	pointers [][]byte // keys of the pointers
	records  []*recordWrite
	usage    *usageWrite // nil: none
	headAt   []byte
	head     []byte
}

func (s *Store) prepareCommit(key core.ThreadKey, c store.Commit) (*commitWrite, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if c.Head.Version == 0 {
		return nil, core.Errorf(core.CodeInvalid, "head of %s to write has version 0, the first is 1", key)
	}
	at := headKey(key)
	w := &commitWrite{Commit: c, s: s, key: key, headAt: at, head: encodeHead(at, &c.Head)}
	for _, p := range c.Pointers {
		at, err := s.checkPointer(key.Tenant, p)
		if err != nil {
			return nil, err
		}
		w.pointers = append(w.pointers, at)
	}
	for _, record := range c.Records {
		r, err := s.prepareRecord(key, record)
		if err != nil {
			return nil, err
		}
		w.records = append(w.records, r)
	}
	var err error
	w.usage, err = prepareUsage(key, c.Usage)
	return w, err
}

// apply is a [change]: it looks at all that is stored before it writes.
func (w *commitWrite) apply(to *writeTx) (out store.Outcome, wrote bool, err error) {
	now := w.s.now()
	pointers, taken, err := w.s.lookAtPointers(to.tx, w.Pointers, w.pointers)
	if err != nil || taken != nil {
		return store.Outcome{Taken: taken}, false, err
	}
	for _, r := range w.records {
		if err := r.look(to.tx, now.Unix()); err != nil {
			return store.Outcome{}, false, err
		}
	}
	if err := w.usage.look(to.tx, now.UnixMilli()); err != nil {
		return store.Outcome{}, false, err
	}
	stored, err := readHead(to.tx, w.headAt)
	if err != nil {
		return store.Outcome{}, false, fmt.Errorf("head: %w", err)
	}
	if stored.Version != w.Head.Version-1 {
		return store.Outcome{Head: stored}, false, nil
	}
	for i := range pointers {
		if err := pointers[i].write(to, now); err != nil {
			return store.Outcome{}, true, err
		}
	}
	for _, r := range w.records {
		if err := r.write(to); err != nil {
			return store.Outcome{}, true, err
		}
	}
	if err := w.usage.write(to); err != nil {
		return store.Outcome{}, true, err
	}
	to.after = append(to.after, func() { w.s.agenda.note(w.key, &w.Head) })
	return store.Outcome{Written: true}, true, to.put(threadsBucket, w.headAt, w.head)
}
