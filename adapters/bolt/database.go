package bolt

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// database is a bbolt database whose file may be damaged, cut short or taken
// away while it is open. bbolt reads the file through a memory map and trusts
// it: on a damaged page it panics, loops or reads behind the map's end, which
// would end the process.
type database struct {
	db   *bbolt.DB
	path string
	file *os.File    // bbolt's own, to look at
	disk journalFile // the same, for what this package writes
	made os.FileInfo // of the file that was opened

	broken atomic.Pointer[error] // why bbolt can be used no more; nil: it can
	failed atomic.Pointer[error] // of the newest write that the disk took or refused; nil: taken
	closed atomic.Bool

	writer     sync.Mutex // held by the one who writes, from its first look until it is on the disk
	journal    *journal   // the writer's, and of resume where no write is under way
	operations []byte     // the writer's: room for those of a write

	mu      sync.Mutex                  // guards what follows and each use of tx; never held while the disk is waited for, but by commit and settle
	tx      *bbolt.Tx                   // the transaction under way, which all reads and writes share; nil: it must be begun again
	syncing *syncing                    // a write that is in tx and not yet on the disk; nil: there is none
	meta    [pageHeader + metaSize]byte // the meta page in force, and where it is
	metaAt  int64
	doubt   bool // the disk failed, and nobody knows what of the last write it has: see settle

	transactions, syncs atomic.Int64
	size                atomic.Int64 // the largest that the file had: it never gets shorter
}

// guard calls f. A panic and a fault of this goroutine in the mapped file
// become a *env.PanicError.
func guard(f func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return env.Protect(f)
}

func panicked(err error) bool {
	var p *env.PanicError
	return errors.As(err, &p)
}

// syncing is a write on its way to the disk.
type syncing struct {
	threads map[string]struct{} // that it changes; an empty one: any
	over    chan struct{}
}

// concerns reports whether a read of a thread, or of all, may meet what it wrote.
func (s *syncing) concerns(thread string) bool {
	_, this := s.threads[thread]
	_, any := s.threads[""]
	return this || any || thread == ""
}

// view runs read on what is stored of a thread, or, where that is empty, of all.
// It waits for a write under way that concerns it: nobody sees what is not on the
// disk.
func (d *database) view(thread string, read func(tx *bbolt.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := d.syncing; s != nil && s.concerns(thread); s = d.syncing {
		d.mu.Unlock()
		<-s.over
		d.mu.Lock()
	}
	if err := d.begun(); err != nil {
		return err
	}
	return d.explain(guard(func() error { return read(d.tx) }))
}

// update runs write, which changes no other threads than those named, and makes
// what it wrote durable. unknown says that nobody knows whether it is on the disk;
// otherwise an error means that nothing was written. When write returns
// errNothingWritten it must have changed nothing.
func (d *database) update(threads map[string]struct{}, write func(tx *writeTx) error) (unknown bool, err error) {
	if err := d.same(); err != nil {
		return false, err
	}
	d.writer.Lock()
	defer d.writer.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begun(); err != nil {
		return false, err
	}
	w := &writeTx{Tx: d.tx, operations: d.operations[:0], room: d.journal.room()}
	err = guard(func() error { return write(w) })
	d.operations = w.operations
	if errors.Is(err, errNothingWritten) {
		return false, err
	}
	if err != nil {
		d.abandon()
		return false, d.explain(err)
	}
	if !w.fits() {
		return d.commit()
	}
	if err := d.append(threads, w.operations); err != nil {
		d.abandon()
		d.doubt = true
		return true, d.refused(err)
	}
	d.transactions.Add(1)
	d.syncs.Add(1)
	return false, nil
}

// append puts operations into the journal while other threads can be read.
func (d *database) append(threads map[string]struct{}, operations []byte) error {
	d.syncing = &syncing{threads: threads, over: make(chan struct{})}
	d.mu.Unlock()
	err := d.journal.append(operations)
	d.mu.Lock()
	close(d.syncing.over)
	d.syncing = nil
	return err
}

// tidy empties a journal that is nearly full, so that a write need not do it.
// When that fails the journal is as it was, and a later write tries again.
func (d *database) tidy() {
	d.writer.Lock()
	defer d.writer.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tx != nil && d.journal.room() < d.journal.size/4 {
		_, _ = d.commit()
	}
}

// refused notes that the disk did not take a write. A commit clears it: a frame of
// the journal says nothing about a full disk, since it has its place already.
func (d *database) refused(err error) error {
	err = core.Errorf(core.CodeUnavailable, "write %s: %w: %w", d.path, store.ErrUnwritable, err)
	d.failed.Store(&err)
	return err
}

// commit lets bbolt commit the transaction under way, which makes it durable with
// all that the journal holds, and empties the journal.
func (d *database) commit() (unknown bool, err error) {
	err = guard(d.tx.Commit)
	if err != nil {
		unknown = !panicked(err) // a panic comes on a damaged page, while pages are arranged in memory
		d.abandon()
		if unknown {
			d.doubt = true
			return true, d.refused(err)
		}
		return false, d.explain(err)
	}
	d.tx = nil
	d.failed.Store(nil)
	d.count()
	return false, nil
}

// abandon gives up the transaction under way: the next call begins it again,
// with what the journal says.
func (d *database) abandon() {
	tx := d.tx
	d.tx = nil
	d.rollback(tx)
}

// begun makes sure that a transaction is under way, in a file that is whole.
func (d *database) begun() error {
	if err := d.whole(); err != nil {
		return err
	}
	if d.tx == nil {
		return d.resume()
	}
	var now [pageHeader + metaSize]byte
	if _, err := d.file.ReadAt(now[:], d.metaAt); err != nil || now != d.meta {
		d.breakOff(core.Errorf(core.CodeCorrupt, "the meta pages were overwritten while the file was open"))
		return *d.broken.Load()
	}
	return nil
}

// noteMeta keeps what the meta page in force says while tx is under way, to see
// whether it stays so. bbolt writes to its two meta pages in turn.
func (d *database) noteMeta(tx *bbolt.Tx) error {
	d.metaAt = int64((tx.ID() - 1) % 2 * d.db.Info().PageSize)
	_, err := d.file.ReadAt(d.meta[:], d.metaAt)
	return err
}

// resume begins a transaction. When it is the one that the journal's frames
// belong to, because it was abandoned or its process died, they are applied: as
// many as are known to be on the disk.
func (d *database) resume() error {
	if d.doubt {
		if err := d.settle(); err != nil {
			return err
		}
	}
	tx, err := d.begin()
	if err != nil {
		return err
	}
	if err := d.catchUp(tx); err != nil {
		d.rollback(tx)
		return d.explain(err)
	}
	d.tx = tx
	return nil
}

// catchUp applies the journal's frames to a transaction that has just begun.
func (d *database) catchUp(tx *bbolt.Tx) error {
	if err := d.noteMeta(tx); err != nil {
		return err
	}
	limit := d.journal.size
	if !d.journal.unread {
		limit = d.journal.end
		if uint64(tx.ID()) != d.journal.transaction {
			limit = 0
		}
	}
	d.journal.restart(tx.ID(), d.meta[pageHeader:])
	err := guard(func() error { return d.journal.replay(tx, limit) })
	if err == nil && !d.journal.unread && d.journal.end != limit {
		err = core.Errorf(core.CodeCorrupt, "the journal ends at %d, %d bytes of it were written", d.journal.end, limit)
	}
	if err != nil {
		d.journal.end = limit
		return err
	}
	d.journal.unread = false
	return nil
}

// begin opens a transaction. bbolt holds locks while it looks at the meta pages
// there, so a panic in the middle leaves it unusable.
func (d *database) begin() (tx *bbolt.Tx, err error) {
	err = guard(func() (err error) { tx, err = d.db.Begin(true); return err })
	if panicked(err) {
		d.breakOff(err)
		return nil, *d.broken.Load()
	}
	return tx, err
}

// rollback ends a transaction whose changes are given up. bbolt's Rollback
// reads nothing from the file, in contrast to what its Update does after a
// panic.
func (d *database) rollback(tx *bbolt.Tx) {
	if d.broken.Load() != nil {
		return // a lock that it needs may be held for good
	}
	if err := guard(tx.Rollback); panicked(err) {
		d.breakOff(err)
	}
}

// breakOff makes every later call fail, since bbolt may hold its locks for good.
func (d *database) breakOff(cause error) {
	err := d.explain(fmt.Errorf("the store cannot go on, restart the program: %w", cause))
	d.broken.CompareAndSwap(nil, &err)
}

// whole checks that bbolt can be used.
func (d *database) whole() error {
	if broken := d.broken.Load(); broken != nil {
		return *broken
	}
	if d.closed.Load() {
		return bbolterrors.ErrDatabaseNotOpen
	}
	if info, err := d.file.Stat(); err == nil && info.Size() < d.size.Load() { // the meta pages themselves may be gone
		return d.explain(core.Errorf(core.CodeCorrupt, "the file was cut to %d bytes while it was open", info.Size()))
	}
	return nil
}

// check is whole and same.
func (d *database) check() error {
	if err := d.whole(); err != nil {
		return err
	}
	return d.same()
}

// same checks that the path still names the file that is open.
func (d *database) same() error {
	info, err := os.Stat(d.path)
	if err == nil && os.SameFile(info, d.made) {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s: %w; put it back, or restart the program to begin anew", d.path, ErrReplaced)
}

// explain names the file and a remedy where the file is damaged.
func (d *database) explain(err error) error {
	if err == nil || !panicked(err) && core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	return damaged(d.path, err)
}

// damagedError is what was found in a file, with the file's name and a remedy.
// It is a store.ErrCorrupt whatever the finding is: often it is thread's, which
// knows of no store, or bbolt's panic.
type damagedError struct {
	path    string
	finding error
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("%v; file %s is damaged: restore it from a copy, or move it away to begin anew", e.finding, e.path)
}

// Unwrap puts ErrCorrupt first: its code is the error's.
func (e *damagedError) Unwrap() []error { return []error{store.ErrCorrupt, e.finding} }

func damaged(path string, err error) error { return &damagedError{path, err} }

// count counts a commit of bbolt.
func (d *database) count() {
	d.transactions.Add(1)
	d.syncs.Add(2) // of the pages, then of the meta page
	if info, err := d.file.Stat(); err == nil && info.Size() > d.size.Load() {
		d.size.Store(info.Size()) // only a writer comes here, and there is one at a time
		d.syncs.Add(1)            // bbolt syncs a file when it makes it longer
	}
}

// close empties the journal and releases the file, also when bbolt holds its
// locks for good. A file that is not whole keeps its journal.
func (d *database) close() error {
	d.writer.Lock()
	defer d.writer.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tx != nil && d.journal.end > 0 && d.check() == nil {
		_, _ = d.commit() // if it fails, the journal still has everything
	}
	if d.tx != nil {
		d.abandon()
	}
	d.closed.Store(true)
	if d.broken.Load() == nil {
		return guard(d.db.Close)
	}
	unlock(d.file)
	return d.file.Close()
}
