package bolt

import (
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

// schemaNumber is the layout of the file that this program writes. 1 to 4 were never
// released: 3 had a journal inside of the file, 4 no transaction beside the sum.
const schemaNumber = 5

var (
	metaBucket       = []byte("meta")
	threadsBucket    = []byte("threads")
	pointersBucket   = []byte("pointers")
	usageBucket      = []byte("usage")
	profilesBucket   = []byte("profiles")
	configsBucket    = []byte("configs")
	admissionsBucket = []byte("admissions")

	schemaKey   = []byte("schema")
	sumKey      = []byte("sum")      // see writeTx
	revisionKey = []byte("revision") // see WriteProfile
	probeKey    = []byte("probe")    // see Probe
)

var buckets = [][]byte{metaBucket, threadsBucket, pointersBucket, usageBucket, profilesBucket, configsBucket, admissionsBucket}

// options are those of bbolt. It does not store which pages are free, which would be one
// page more in each transaction, but finds out when it opens a file.
func options() *bbolt.Options {
	return &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoStatistics: true}
}

// openDatabase opens the file at path, and makes it if it does not exist. disk replaces
// the file's writer, for tests; may be nil.
func openDatabase(path string, timeout time.Duration, disk func(*bbolt.DB, *os.File) rawFile) (*database, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	d := &database{path: path}
	if err := d.open(timeout); err != nil {
		return nil, err
	}
	d.disk = d.file
	if disk != nil {
		d.disk = disk(d.db, d.file)
	}
	if err := d.settle(); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.syncs.Store(0)
	return d, nil
}

// open lets bbolt open a file that verify has found to be whole.
func (d *database) open(timeout time.Duration) error {
	o := options()
	o.Timeout = timeout
	o.OpenFile = func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
		if file, err = os.OpenFile(name, flag&^os.O_CREATE, mode); err != nil {
			return nil, err
		}
		if err = lock(file, timeout); err == nil {
			err = verify(file)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		d.file = file
		return file, nil
	}
	err := guard(func() (err error) { d.db, err = bbolt.Open(d.path, 0o600, o); return err })
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return fmt.Errorf("%w (waited %s for its lock)", ErrLocked, timeout)
	}
	if err != nil {
		return d.explain(err)
	}
	d.pageSize = d.db.Info().PageSize
	if d.made, err = d.file.Stat(); err == nil {
		d.size.Store(d.made.Size())
		d.filled = written(d.made)
		err = d.checkFree()
	}
	if err != nil {
		return errors.Join(err, d.stop())
	}
	return nil
}

// checkFree lets bbolt check the list of free pages of a file that has one stored, which
// only bbolt's own tools do.
func (d *database) checkFree() error {
	newest, err := newestMeta(d.file)
	if err != nil || newest.freeList == noFreeList {
		return err
	}
	return d.explain(guard(func() error {
		return d.db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				return core.Errorf(core.CodeCorrupt, "its list of free pages: %w", err)
			}
			return nil
		})
	}))
}

// create makes an empty store at path, and its folder, unless there is a file. It gets its
// name when it is whole and on the disk, so that no power failure leaves a part of one.
func create(path string) (err error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > 0 {
		return nil
	}
	if err == nil { // an empty file is replaced
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(path)
	entered := changedFolders(folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	made, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(made.Name()) }()
	if err := errors.Join(made.Close(), layOut(made.Name())); err != nil {
		return err
	}
	if err := os.Link(made.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return err
	}
	for _, folder := range entered {
		if err := syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// layOut makes an empty store of an empty file.
func layOut(path string) error {
	db, err := bbolt.Open(path, 0o600, options())
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		w := &writeTx{tx: tx}
		if err := w.put(metaBucket, schemaKey, strconv.AppendInt(nil, schemaNumber, 10)); err != nil {
			return err
		}
		return w.putSum()
	})
	return errors.Join(err, db.Close())
}

// changedFolders lists the folders with an entry that the disk may lack: the
// file's own, and of the folders that do not exist yet the one around each.
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
