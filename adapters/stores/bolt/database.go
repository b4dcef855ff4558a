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

// database is a bbolt database whose disk may refuse a write, and whose file may be cut
// short, overwritten or taken away while it is open.
type database struct {
	db       *bbolt.DB
	path     string
	file     *os.File    // bbolt's own, to look at
	disk     rawFile     // the same, for what settle and fill write
	made     os.FileInfo // of the file that was opened
	pageSize int

	closed atomic.Bool
	stuck  atomic.Bool                // bbolt holds its locks for ever
	broken atomic.Pointer[error]      // why bbolt cannot be used any more; nil: it can
	failed atomic.Pointer[error]      // of the newest write that the disk accepted or refused; nil: accepted
	meta   atomic.Pointer[meta]       // the meta page in force, which is on the disk
	writer atomic.Pointer[committing] // the newest transaction that was committed or is about to be

	settling sync.Mutex
	doubt    atomic.Bool // the disk failed, and may have the last transaction or not: see settle

	transactions, syncs atomic.Int64
	filled              int64        // see fill
	size                atomic.Int64 // the largest that the file had: it never gets shorter
}

// rawFile is what they need of an *os.File.
type rawFile interface {
	WriteAt(b []byte, at int64) (int, error)
	Sync() error
}

// committing is a transaction on its way to the disk.
type committing struct {
	transaction int
	over        chan struct{} // closed when it is there, or has failed
}

// guard calls f. A panic and a fault of this goroutine in the mapped file become a
// *env.PanicError.
func guard(f func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return env.Protect(f)
}

func panicked(err error) bool {
	var p *env.PanicError
	return errors.As(err, &p)
}

// view runs read on the data on the disk, concurrently with other reads and a write.
func (d *database) view(read func(tx *bbolt.Tx) error) error {
	if err := d.usable(); err != nil {
		return err
	}
	begun := false
	err := guard(func() error {
		return d.db.View(func(tx *bbolt.Tx) error {
			begun = true
			if err := d.durable(tx.ID()); err != nil {
				return err
			}
			return read(tx)
		})
	})
	if panicked(err) && !begun { // bbolt holds locks while it looks at the meta pages
		d.stuck.Store(true)
		return d.breakOff(err)
	}
	return d.explain(err)
}

// durable waits until a transaction is on the disk. bbolt shows a transaction as soon as
// its meta page is written, and syncs that afterwards.
func (d *database) durable(transaction int) error {
	w := d.writer.Load()
	if w == nil || w.transaction != transaction {
		return nil // an older one
	}
	<-w.over
	if failed := d.failed.Load(); failed != nil && d.doubt.Load() { // in this order: it may be settled in between
		return *failed
	}
	return nil
}

// update runs write and commits what it wrote; there is one update at a time. unknown says
// that the disk may have it or not; any other error means that nothing was written.
func (d *database) update(write func(w *writeTx) error) (unknown bool, err error) {
	if err := d.same(); err != nil {
		return false, err
	}
	if err := d.usable(); err != nil {
		return false, err
	}
	var tx *bbolt.Tx
	if err := guard(func() (err error) { tx, err = d.db.Begin(true); return err }); panicked(err) {
		d.stuck.Store(true)
		return false, d.breakOff(err)
	} else if err != nil {
		return false, err
	}
	d.fill(tx.Size())
	w := &writeTx{tx: tx}
	if err := guard(func() error { return w.do(write) }); err != nil {
		d.rollback(tx)
		return false, d.explain(err)
	}
	return d.commit(tx)
}

// commit makes a transaction durable.
func (d *database) commit(tx *bbolt.Tx) (unknown bool, err error) {
	w := &committing{transaction: tx.ID(), over: make(chan struct{})}
	d.writer.Store(w)
	defer close(w.over)
	err = guard(tx.Commit)
	if panicked(err) { // on a damaged page, while pages are arranged in memory
		d.rollback(tx)
		return false, d.explain(err)
	}
	if err == nil {
		err = d.noteMeta(w.transaction)
	}
	if err != nil {
		err = d.refused(err)
		d.doubt.Store(true)
		return true, err
	}
	d.failed.Store(nil)
	d.count()
	return false, nil
}

// rollback ends a transaction whose changes are dropped. bbolt's Rollback reads nothing
// from the file, in contrast to what its Update does after a panic.
func (d *database) rollback(tx *bbolt.Tx) {
	if err := guard(tx.Rollback); panicked(err) {
		d.stuck.Store(true)
		_ = d.breakOff(err)
	}
}

// refused notes that the disk did not accept a write.
func (d *database) refused(err error) error {
	err = core.Errorf(core.CodeUnavailable, "write %s: %w: %w", d.path, store.ErrUnwritable, err)
	d.failed.Store(&err)
	return err
}

// noteMeta keeps the meta page that a transaction has written.
func (d *database) noteMeta(transaction int) error {
	m := &meta{at: int64(transaction % 2 * d.pageSize)}
	if _, err := d.file.ReadAt(m.content[:], m.at); err != nil {
		return err
	}
	d.meta.Store(m)
	return nil
}

// settle makes the newest transaction in the file durable before any call builds on it.
// Its meta page may not be on the disk: a process was killed before it had synced it, or
// the sync failed. In the latter case the system may count the page as written and never
// write it, so it is written again. While the disk refuses that, nothing is read or
// written: a write whose method returned an error is stored or not, and does not appear
// or disappear later.
func (d *database) settle() error {
	d.settling.Lock()
	defer d.settling.Unlock()
	last := d.meta.Load()
	if last != nil && !d.doubt.Load() {
		return nil
	}
	newest, err := newestMeta(d.file)
	if err != nil {
		return d.explain(err)
	}
	if last == nil || newest.content != last.content { // else the last transaction did not come as far
		d.syncs.Add(1)
		_, err := d.disk.WriteAt(newest.content[:], newest.at)
		if err == nil {
			err = d.disk.Sync()
		}
		if err != nil {
			return d.refused(fmt.Errorf("check the disk after an error: %w", err))
		}
		d.meta.Store(newest)
	}
	d.doubt.Store(false)
	return nil
}

// usable returns why bbolt cannot be used, and settles what is in doubt.
func (d *database) usable() error {
	if err := d.whole(); err != nil {
		return err
	}
	if d.doubt.Load() {
		if err := d.settle(); err != nil {
			return err
		}
	}
	for {
		var now [pageHeader + metaSize]byte
		m := d.meta.Load()
		_, err := d.file.ReadAt(now[:], m.at)
		if err == nil && now == m.content {
			return nil
		}
		if d.closed.Load() {
			return bbolterrors.ErrDatabaseNotOpen
		}
		if m == d.meta.Load() {
			return d.breakOff(core.Errorf(core.CodeCorrupt, "the meta pages were overwritten while the file was open"))
		}
	}
}

// whole returns why bbolt cannot be used any more.
func (d *database) whole() error {
	if broken := d.broken.Load(); broken != nil {
		return *broken
	}
	if d.closed.Load() {
		return bbolterrors.ErrDatabaseNotOpen
	}
	size := d.size.Load() // before the look at the file, which a writer may make longer
	if info, err := d.file.Stat(); err == nil && info.Size() < size {
		return d.explain(core.Errorf(core.CodeCorrupt, "the file was cut to %d bytes while it was open", info.Size()))
	}
	return nil
}

// breakOff makes every later call fail.
func (d *database) breakOff(cause error) error {
	err := d.explain(fmt.Errorf("the store cannot continue, restart the program: %w", cause))
	d.broken.CompareAndSwap(nil, &err)
	return *d.broken.Load()
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
	return fmt.Errorf("%s: %w; restore it, or restart the program to start with an empty file", d.path, ErrReplaced)
}

// count counts a transaction.
func (d *database) count() {
	d.transactions.Add(1)
	d.syncs.Add(2) // of the pages, then of the meta page
	if info, err := d.file.Stat(); err == nil && info.Size() > d.size.Load() {
		d.size.Store(info.Size()) // there is one writer at a time
		d.syncs.Add(1)            // bbolt syncs a file when it makes it longer
	}
}

// stop releases the file, also when bbolt holds its locks for ever.
func (d *database) stop() error {
	if d.closed.Swap(true) {
		return nil
	}
	if d.stuck.Load() {
		return d.file.Close()
	}
	return guard(d.db.Close)
}

// explain names the file and a remedy where the file is damaged.
func (d *database) explain(err error) error {
	if err == nil || !panicked(err) && core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	return damaged(d.path, err)
}

// damagedError is a finding of damage in a file, with the file's name and a remedy. It is
// a store.ErrCorrupt for every finding: often the finding is thread's, which knows of no
// store, or bbolt's panic.
type damagedError struct {
	path    string
	finding error
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("%v; file %s is damaged: restore it from a copy, or move it away to start with an empty file", e.finding, e.path)
}

// Unwrap puts ErrCorrupt first: its code is the error's.
func (e *damagedError) Unwrap() []error { return []error{store.ErrCorrupt, e.finding} }

func damaged(path string, err error) error { return &damagedError{path, err} }
