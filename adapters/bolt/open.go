package bolt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/reveille-run/reveille/core"
)

// schemaNumber is the layout of the file that this program writes. 1 had no
// checksums, 2 no journal; a file of 2 gets one when it is opened.
const schemaNumber = 3

var (
	metaBucket     = []byte("meta")
	headsBucket    = []byte("heads")
	recordsBucket  = []byte("records")
	pointersBucket = []byte("pointers")
	dueBucket      = []byte("due")
	expiryBucket   = []byte("expiry")
	journalBucket  = []byte("journal")

	// What is written seldom stands beside the journal: see writeTx.beside. A file
	// of this schema may lack these buckets, and a program that does not know them
	// leaves them alone.
	profilesBucket   = []byte("profiles")
	configsBucket    = []byte("configs")
	waitingBucket    = []byte("waiting")
	admissionsBucket = []byte("admissions")

	schemaKey = []byte("schema")
	framesKey = []byte("frames")
	probeKey  = []byte("probe") // see Probe
)

// opening is how a file is opened.
type opening struct {
	timeout time.Duration
	journal int64                                    // size of a new one; default journalSize
	disk    func(*bbolt.DB, journalFile) journalFile // replaces what the file is written through; for tests
}

func openDatabase(path string, how opening) (*database, error) {
	folder := filepath.Dir(path)
	entered := changedFolders(folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	_, statErr := os.Stat(path)
	d := &database{path: path}
	err := d.open(how.timeout)
	if err == nil {
		d.disk = dataFile{d.file}
		if how.disk != nil {
			d.disk = how.disk(d.db, d.disk)
		}
		err = d.prepare(cmp.Or(how.journal, journalSize))
	}
	for _, folder := range entered {
		if syncErr := syncFolder(folder); err == nil && errors.Is(statErr, fs.ErrNotExist) {
			err = syncErr // where the file is an old one, its entry has most likely been synced
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.giveUp())
	}
	d.transactions.Store(0)
	d.syncs.Store(0)
	return d, nil
}

// open lets bbolt open the file.
func (d *database) open(timeout time.Duration) error {
	openFile := func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
		if file, err = os.OpenFile(name, flag, mode); err != nil {
			return nil, err
		}
		if err = lock(file, timeout); err == nil {
			err = emptyUnfinished(file)
		}
		if err == nil {
			err = inspect(file)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		d.file = file
		return file, nil
	}
	err := guard(func() (err error) {
		d.db, err = bbolt.Open(d.path, 0o600, &bbolt.Options{Timeout: timeout, FreelistType: bbolt.FreelistMapType, OpenFile: openFile})
		return err
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("%w (waited %s for its lock)", ErrLocked, timeout)
	}
	if panicked(err) {
		return d.explain(err)
	}
	if err != nil {
		return err
	}
	d.made, err = d.file.Stat()
	if err == nil {
		d.size.Store(d.made.Size())
	}
	return err
}

// giveUp closes what open opened. After a panic in bbolt.Open only the file
// itself is left to close.
func (d *database) giveUp() error {
	if d.db != nil {
		return d.close()
	}
	if d.file != nil {
		unlock(d.file)
		_ = d.file.Close() // bbolt has closed it already, if it returned
	}
	return nil
}

// prepare lays a new file out, or checks the layout of an old one and adds what
// it lacks; then it begins the transaction that all calls share, with what the
// journal has of a process that died. size is that of a new journal.
func (d *database) prepare(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.layOut(size); err != nil {
		return d.explain(err)
	}
	tx, err := d.begin()
	if err != nil {
		return err
	}
	err = guard(func() (err error) { d.journal, err = openJournal(tx, d.disk); return err })
	d.rollback(tx)
	if err != nil {
		return d.explain(err)
	}
	if err := d.resume(); err != nil || d.journal.end == 0 {
		return err
	}
	if _, err = d.commit(); err != nil && d.failed.Load() == nil {
		return err
	}
	// Where the disk has refused it, which may be full, the journal still has everything:
	// the file is read, and writes are refused until there is room.
	return d.resume()
}

// layOut brings the buckets to this program's layout.
func (d *database) layOut(size int64) error {
	tx, err := d.begin()
	if err != nil {
		return err
	}
	changed := false
	err = guard(func() (err error) { changed, err = layOut(tx, size); return err })
	if err != nil || !changed {
		d.rollback(tx)
		return err
	}
	err = guard(tx.Commit)
	if panicked(err) {
		d.rollback(tx)
	}
	return err
}

func layOut(tx *bbolt.Tx, size int64) (changed bool, err error) {
	if first, _ := tx.Cursor().First(); first == nil {
		for _, name := range journalBuckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return false, fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		return true, addJournal(tx, size)
	}
	number, err := schemaOf(tx)
	if err != nil || number == schemaNumber {
		return false, err
	}
	return true, addJournal(tx, size)
}

// addJournal is what schema 3 has more than 2.
func addJournal(tx *bbolt.Tx, size int64) error {
	bucket, err := tx.CreateBucket(journalBucket)
	if err != nil {
		return fmt.Errorf("create bucket %s: %w", journalBucket, err)
	}
	if err := bucket.Put(framesKey, newJournal(size)); err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(schemaKey, strconv.AppendInt(nil, schemaNumber, 10))
}

// schemaOf returns the number of a layout that this program reads.
func schemaOf(tx *bbolt.Tx) (number int, err error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return 0, core.Errorf(core.CodeInvalid, "the file is a database of another program: it has no bucket %q", metaBucket)
	}
	text := string(meta.Get(schemaKey))
	number, err = strconv.Atoi(text)
	switch {
	case err != nil || number < 1:
		return 0, core.Errorf(core.CodeCorrupt, "schema number %q is not one", core.Excerpt(text))
	case number < schemaNumber-1:
		return 0, fmt.Errorf("%w, an older one (schema %d, this one reads %d): move the file away to begin anew, or open it with that version", ErrSchema, number, schemaNumber)
	case number > schemaNumber:
		return 0, fmt.Errorf("%w, a newer one (schema %d, this one reads %d): run that version, or move the file away to begin anew", ErrSchema, number, schemaNumber)
	}
	for _, name := range journalBuckets {
		if tx.Bucket(name) == nil {
			return 0, core.Errorf(core.CodeCorrupt, "bucket %q is missing", name)
		}
	}
	return number, nil
}

// changedFolders lists the folders with an entry that the disk may lack: the
// file's own, whose process may have been killed before it synced it, and of the
// folders that do not exist yet the one around each.
func changedFolders(folder string) []string {
	folders := []string{folder}
	for {
		_, err := os.Stat(folder)
		parent := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || parent == folder {
			return folders
		}
		folder = parent
		folders = append(folders, folder)
	}
}

// syncFolder makes the entry of a new file as durable as its content.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // which cannot sync a folder and need not
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
