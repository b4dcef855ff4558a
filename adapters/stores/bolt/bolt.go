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
	// ErrLocked: another process, or another Store of this one, has the file
	// open. Nothing was read or written.
	ErrLocked = core.Errorf(core.CodeUnavailable, "another process has the file open")
	// errSchema: an older or a newer version of the program laid the file out.
	// Nothing was written.
	errSchema = core.Errorf(core.CodeSchema, "the file was written by another version of the program")
	// ErrReplaced: what stands at the path is not the file that was opened. It
	// was deleted, moved or replaced meanwhile, and what would be written now
	// would be gone with it. Nothing was written.
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

// Open opens the file at path, and makes it (mode 0600) and its folder (mode
// 0700) if they do not exist. A file that another process has open is
// [ErrLocked], one of another version is of code
// [core.CodeSchema], a damaged one store.ErrCorrupt; a file that this package did not make is an error that
// leaves it as it was. Each error names the file. The caller must call Close.
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

// Close waits for the calls under way and releases the file. Calls after it
// fail.
func (s *Store) Close() error { return s.leader.stop() }

// Check returns why the store as a whole can be used no more, nil while it can:
// [ErrReplaced], or store.ErrCorrupt when the file was cut short or damaged where
// every call needs it. Damage elsewhere concerns the calls that meet it. It reads
// no record.
func (s *Store) Check() error { return s.db.check() }

// Failing returns the error of the newest write transaction when the disk refused
// it, as a full one does: code unavailable, with the system's cause where bbolt
// passes it on. It is nil again once one was committed. It looks at no file.
func (s *Store) Failing() error {
	if err := s.db.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// probeSize is what Probe writes: as much as a large request makes a commit write.
const probeSize = 1 << 20

// Probe finds out whether the disk takes commits again, by one of 1 MiB that
// another takes back. A small one would find room in the file itself on a full disk.
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

// Stats returns what the store did since it was opened: transactions, each of one call or of
// several that came together, and syncs of the file to the disk, two a transaction and one
// more when it makes the file longer.
func (s *Store) Stats() (transactions, syncs int64) {
	return s.db.transactions.Load(), s.db.syncs.Load()
}

// view reads what is stored; it is consistent, and must be copied before read returns.
func (s *Store) view(ctx context.Context, read func(tx *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.view(read)
}

// update writes. It may share its transaction with other calls: see [change]. A write that
// has begun is not interrupted by ctx.
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
