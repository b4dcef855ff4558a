package bolt

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// database is a bbolt database whose file may be damaged, cut short or taken
// away while it is open. bbolt reads the file through a memory map and trusts
// it: on a damaged page it panics, loops or reads behind the map's end, which
// would end the process.
type database struct {
	db   *bbolt.DB
	path string
	file *os.File    // bbolt's own, to look at
	made os.FileInfo // of the file that was opened

	begins sync.Mutex            // one Begin at a time
	broken atomic.Pointer[error] // why bbolt can be used no more; nil: it can
	failed atomic.Pointer[error] // of the newest commit that the disk took or refused; nil: taken

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

// view runs read in a transaction.
func (d *database) view(read func(tx *bbolt.Tx) error) error {
	tx, err := d.begin(false)
	if err != nil {
		return err
	}
	err = guard(func() error { return read(tx) })
	d.rollback(tx)
	return d.explain(err)
}

// update runs write in a transaction and commits it. unknown says that nobody
// knows whether it is on the disk; otherwise an error means that nothing was
// written.
func (d *database) update(write func(tx *bbolt.Tx) error) (unknown bool, err error) {
	if err := d.same(); err != nil {
		return false, err
	}
	tx, err := d.begin(true)
	if err != nil {
		return false, err
	}
	if err := guard(func() error { return write(tx) }); err != nil {
		d.rollback(tx)
		return false, d.explain(err)
	}
	err = guard(tx.Commit)
	if panicked(err) { // on a damaged page, while it arranged its pages in memory
		d.rollback(tx)
		return false, d.explain(err)
	}
	if err != nil {
		refused := core.Errorf(core.CodeUnavailable, "write %s: %w", d.path, err)
		d.failed.Store(&refused)
		return true, refused
	}
	d.failed.Store(nil)
	d.count()
	return false, nil
}

// begin opens a transaction. bbolt holds locks while it looks at the meta pages
// there, so a panic in the middle leaves it unusable.
func (d *database) begin(writable bool) (tx *bbolt.Tx, err error) {
	d.begins.Lock()
	defer d.begins.Unlock()
	if err := d.whole(); err != nil {
		return nil, err
	}
	err = guard(func() (err error) { tx, err = d.db.Begin(writable); return err })
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

func damaged(path string, err error) error {
	return core.Errorf(core.CodeCorrupt, "%w; file %s is damaged: restore it from a copy, or move it away to begin anew", err, path)
}

// count counts a transaction that was committed.
func (d *database) count() {
	d.transactions.Add(1)
	d.syncs.Add(2) // of the pages, then of the meta page
	if info, err := d.file.Stat(); err == nil && info.Size() > d.size.Load() {
		d.size.Store(info.Size()) // only a writer comes here, and there is one at a time
		d.syncs.Add(1)            // bbolt syncs a file when it makes it longer
	}
}

// close releases the file, also when bbolt holds its locks for good.
func (d *database) close() error {
	if d.broken.Load() == nil {
		return guard(d.db.Close)
	}
	unlock(d.file)
	return d.file.Close()
}
