package store

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Configs keeps immutable snapshots of configuration by the hash of their
// content, so that a run can go on with what it began with. They belong to the
// deployment, not to a tenant, and are kept for good.
type Configs interface {
	// PutSnapshot stores content under its hash, which passes core.CheckName; the
	// store does not compute it. Where the same bytes stand it succeeds and writes
	// nothing, where others do it is a *RefusedError with [ErrConflict]. Over the
	// backend's limit it is [ErrTooLarge] before anything is sent. Any other error
	// means that the outcome is not known: call it again.
	PutSnapshot(ctx context.Context, hash string, content []byte) error
	// Snapshot reads what PutSnapshot stored, strongly consistent; ok is false
	// when there is none.
	Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error)
}

// CheckSnapshotHash validates a hash as a snapshot's name.
func CheckSnapshotHash(hash string) error { return core.CheckName("hash of a snapshot", hash) }
