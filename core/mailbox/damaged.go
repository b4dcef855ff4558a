package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A damaged thread is one whose head cannot be decoded. No worker can do anything for it,
// and whatever woke it would wake it again: the queue delivers its message up to the limit
// of receives, the consumer of dead letters cannot read the head either, and the sweep finds
// the thread each minute.
//
// Therefore the first worker that finds the damage quarantines the head: see
// [store.Backend.QuarantineHead]. The thread leaves the indexes, and its hint is
// acknowledged. That may be done without an operator, because it loses nothing: the damaged
// bytes and all records stay as they are, and the change can be undone. An operator who has
// restored the head, or deployed a program that reads it, releases the thread, and the sweep
// wakes it as before.
//
// A head that a newer program has encoded is not damaged, and is never quarantined. Each
// change names the stored bytes that it replaces, so that a head that was repaired or moved
// since is left alone.

// maxDamageTries is how often a change of a damaged head is tried again whose stored head
// was another one by then.
const maxDamageTries = 3

// Quarantine marks the damaged head of a thread, so that no worker is woken for it. Calls for
// the thread still return the *store.DamagedError. For a head with a mark it does nothing.
// core.CodeNotFound: there is no such thread. core.CodeConflict: its head can be read.
// thread.ErrSchema: a newer program wrote it.
func (s *Service) Quarantine(ctx context.Context, key core.ThreadKey) error {
	return changeDamaged(ctx, s.store, key, func(stored store.StoredHead) (bool, error) {
		if stored.Quarantined != 0 && stored.CheckDamaged(key) == nil {
			return true, nil
		}
		return s.store.QuarantineHead(ctx, key, stored, max(1, s.env.Millis()))
	})
}

// Release removes the mark from a head that can be read again, and wakes the thread. For an
// intact head without a mark it only wakes the thread. *store.DamagedError: the head is still
// damaged, and stays quarantined. core.CodeNotFound: there is no such thread.
func (s *Service) Release(ctx context.Context, key core.ThreadKey) error {
	err := changeDamaged(ctx, s.store, key, func(stored store.StoredHead) (bool, error) {
		if stored.Bytes == nil && stored.Damage == nil {
			return false, core.Errorf(core.CodeNotFound, "thread %s does not exist", key)
		}
		return s.store.ReleaseHead(ctx, key, stored)
	})
	if err == nil { // the sweep would find it, later
		s.wakes.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Sweep: true}, 0, point.Hint)
	}
	return err
}

// lostVersion is the version of a tombstone in the place of a head whose version is not
// known. No head has as many writes, so that a worker which has read an earlier head is
// refused.
const lostVersion = 1 << 40

// DeleteDamaged makes a tombstone of a damaged thread, quarantined or not, as Delete does of
// others; its records are erased in the same way. It is for operators: nothing is known of
// the owner. Messages that the head owed other threads are lost, such as the end of a child run. The
// errors are those of Quarantine.
func (s *Service) DeleteDamaged(ctx context.Context, key core.ThreadKey) error {
	err := changeDamaged(ctx, s.store, key, func(stored store.StoredHead) (bool, error) {
		tombstone, err := damagedTombstone(s.env, s.store.DuePolicy(), stored)
		if err != nil {
			return false, err
		}
		return s.store.ReplaceHead(ctx, key, stored, tombstone)
	})
	if err == nil {
		s.wakes.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Sweep: true}, 0, point.Hint)
	}
	return err
}

// damagedTombstone is what the transition Delete makes of a head of which only the version is
// known.
func damagedTombstone(e *env.Env, due thread.DuePolicy, stored store.StoredHead) (thread.Head, error) {
	now := e.Millis()
	version := stored.Version
	if version == 0 || version > lostVersion {
		version = lostVersion
	}
	head := thread.Head{Version: version, Incarnation: uint64(now) << 16}
	next, _, err := thread.Apply(head, thread.Transition{
		Now: now, CommitID: e.NewID(), Due: due, Change: thread.Delete{},
	})
	return next, err
}

// changeDamaged reads the stored head and calls do with it, again if another one is stored by
// then.
func changeDamaged(ctx context.Context, backend store.Backend, key core.ThreadKey, do func(store.StoredHead) (done bool, err error)) error {
	for range maxDamageTries {
		stored, err := backend.StoredHead(ctx, key)
		if err != nil {
			return fmt.Errorf("read damaged head of %s: %w", key, err)
		}
		done, err := do(stored)
		if err != nil || done {
			return err
		}
	}
	return core.Errorf(core.CodeThrottled, "the head of %s changed %d times during the call, call it again", key, maxDamageTries)
}

// setAside handles a hint of a thread whose head was found damaged: it quarantines the head,
// after which the hint can be acknowledged. handled is false for another error. The error is
// that of a head that could not be quarantined: another delivery of the hint tries again.
func (s *Service) setAside(ctx context.Context, key core.ThreadKey, found error) (handled bool, err error) {
	damaged, ok := errors.AsType[*store.DamagedError](found)
	if !ok || damaged.Key != key {
		return false, nil
	}
	if damaged.Quarantined != 0 { // a hint from before
		s.log.WarnContext(ctx, "wake-up of a quarantined thread dropped", "tenant", key.Tenant, "thread", key.Thread)
		return true, nil
	}
	switch err := s.Quarantine(ctx, key); {
	case core.CodeOf(err) == core.CodeConflict: // repaired since
		s.wakes.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, 0, point.Continue)
		return true, nil
	case err != nil:
		return true, errors.Join(found, fmt.Errorf("quarantine %s: %w", key, err))
	}
	s.log.ErrorContext(ctx, "thread quarantined, its head is damaged", "tenant", key.Tenant, "thread", key.Thread, "error", found,
		"remedy", "restore the head and run doctor release, or run doctor delete")
	if s.aside != nil {
		s.aside(key)
	}
	return true, nil
}
