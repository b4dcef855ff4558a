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

// schemaNumber is the newest layout of the file that this program understands.
const schemaNumber = 1

var (
	metaBucket     = []byte("meta")
	headsBucket    = []byte("heads")
	recordsBucket  = []byte("records")
	pointersBucket = []byte("pointers")
	dueBucket      = []byte("due")
	expiryBucket   = []byte("expiry")

	schemaKey = []byte("schema")
)

func openFile(path string, timeout time.Duration) (*bbolt.DB, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	_, statErr := os.Stat(path)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: timeout, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w (waited %s for its lock)", ErrLocked, timeout)
	}
	if err != nil {
		return nil, err
	}
	err = prepare(db)
	if err == nil && errors.Is(statErr, fs.ErrNotExist) {
		err = syncFolder(folder)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepare lays a new file out and checks the layout of an old one.
func prepare(db *bbolt.DB) error {
	empty := false
	err := db.View(func(tx *bbolt.Tx) error {
		if first, _ := tx.Cursor().First(); first == nil {
			empty = true
			return nil
		}
		return checkSchema(tx)
	})
	if err != nil || !empty {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, headsBucket, recordsBucket, pointersBucket, dueBucket, expiryBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		return tx.Bucket(metaBucket).Put(schemaKey, strconv.AppendInt(nil, schemaNumber, 10))
	})
}

func checkSchema(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return core.Errorf(core.CodeInvalid, "the file is a database of another program: it has no bucket %q", metaBucket)
	}
	text := string(meta.Get(schemaKey))
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return core.Errorf(core.CodeCorrupt, "schema number %q is not one", core.Excerpt(text))
	}
	if number > schemaNumber {
		return fmt.Errorf("schema %d, newest known %d: %w", number, schemaNumber, ErrSchema)
	}
	for _, name := range [][]byte{headsBucket, recordsBucket, pointersBucket, dueBucket, expiryBucket} {
		if tx.Bucket(name) == nil {
			return core.Errorf(core.CodeCorrupt, "bucket %q is missing", name)
		}
	}
	return nil
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
