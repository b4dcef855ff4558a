package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var (
	// ErrLocked: another process, or another Store of this process, has the file open.
	// Nothing was read or written.
	ErrLocked = core.Errorf(core.CodeUnavailable, "another process has the file open")
	// errSchema: an older or a newer version of the program laid the file out.
	// Nothing was written.
	errSchema = core.Errorf(core.CodeSchema, "the file was written by another version of the program")
	// ErrReplaced: the file at the path is not the file that was opened. It was deleted,
	// moved or replaced since then, so writes to the open file would be lost. Nothing was
	// written.
	ErrReplaced = core.Errorf(core.CodeUnavailable, "the file was deleted, moved or replaced while it was open")
)

// Options of a Store. The zero value works.
type Options struct {
	// Now is the clock that decides what has expired. Default time.Now.
	Now func() time.Time
	// LockTimeout is how long Open waits for another process to close the
	// file. Default 1 s.
	LockTimeout time.Duration
	// MaxPayload is the largest payload of a record, or value of a pointer, in
	// bytes; one byte more is store.ErrTooLarge. Default 16 MiB.
	MaxPayload int
}

const (
	defaultLockTimeout = time.Second
	defaultMaxPayload  = 16 << 20
)

// Store implements [store.Backend] on one file. It is safe for concurrent use.
type Store struct {
	db         *database
	leader     *leader
	now        func() time.Time
	opened     int64 // unix milliseconds
	maxPayload int
	agenda     agenda
	listed     listed
	purging    purging
}

var _ store.Backend = (*Store)(nil)

// Open opens the file at path. If the file or its folder does not exist, Open makes it,
// with modes 0600 and 0700. The error for a file that another process has open is
// [ErrLocked]; the error for a file of another version has code [core.CodeSchema]; a
// damaged file is store.ErrCorrupt. A file that this package did not make is an error,
// and Open does not change it. Each error names the file. The caller must call Close.
func Open(path string, options Options) (*Store, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.LockTimeout <= 0 {
		options.LockTimeout = defaultLockTimeout
	}
	if options.MaxPayload <= 0 {
		options.MaxPayload = defaultMaxPayload
	}
	db, err := openDatabase(path, options.LockTimeout, nil)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return storeOn(db, options), nil
}

func storeOn(db *database, options Options) *Store {
	s := &Store{db: db, now: options.Now, opened: options.Now().UnixMilli(), maxPayload: options.MaxPayload}
	s.leader = newLeader(db, s.agenda.forget)
	return s
}

// Close waits for the calls under way and releases the file. Later calls fail.
func (s *Store) Close() error { return s.leader.stop() }

// Check returns the reason why the whole store cannot be used any more, nil while it can:
// [ErrReplaced], or store.ErrCorrupt if the file was truncated or damaged at a place that
// every call needs. Other damage is reported by the calls that read it. Check reads no
// record.
func (s *Store) Check() error { return s.db.check() }

// Failing returns the error of the newest write transaction if the disk refused it, for
// example because it is full: code unavailable, with the system's cause if bbolt returns
// it. After a successful commit it is nil again. Failing does not access the file.
func (s *Store) Failing() error {
	if err := s.db.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// probeSize is what Probe writes: as much as a large request makes a commit write.
const probeSize = 1 << 20

// Probe tests whether the disk accepts commits again: it writes 1 MiB and then deletes
// it. A small commit would find space in the file itself on a full disk.
func (s *Store) Probe(ctx context.Context) error {
	for _, write := range []func(w *writeTx) error{
		func(w *writeTx) error { return w.put(metaBucket, probeKey, make([]byte, probeSize)) },
		func(w *writeTx) error { return w.remove(metaBucket, probeKey) },
	} {
		if err := s.update(ctx, func(w *writeTx) (bool, error) { return true, write(w) }); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
	return nil
}

// Stats returns counts since the store was opened: of transactions, each for one call or
// several concurrent ones, and of syncs of the file to the disk. A transaction needs two
// syncs, and one more if it makes the file longer.
func (s *Store) Stats() (transactions, syncs int64) {
	return s.db.transactions.Load(), s.db.syncs.Load()
}

// view reads the stored data; it is consistent, and must be copied before read returns.
func (s *Store) view(ctx context.Context, read func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.view(read)
}

// update writes. It may share its transaction with other calls: see [change]. ctx does
// not interrupt a write that has started.
func (s *Store) update(ctx context.Context, write change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.leader.do(func(w *writeTx) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		return write(w)
	})
}
