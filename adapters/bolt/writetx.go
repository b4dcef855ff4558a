package bolt

import (
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// writeTx is the transaction under way, with what is done to it noted for the
// journal. All that is read of it must be copied before the next write.
type writeTx struct {
	*bbolt.Tx
	operations []byte
	room       int64 // for operations in the journal; when they need more they are noted no more, and bbolt commits
}

// noRoom is less than any room that another change of the same write may ask for.
const noRoom = -1

var errNoBucket = errors.New("the bucket is none that the journal knows")

// fits reports whether the operations have room in the journal.
func (w *writeTx) fits() bool { return w.room >= 0 }

// put writes a value, which must not be changed afterwards.
func (w *writeTx) put(bucket, key, value []byte) error {
	if err := w.note(bucket, 0, key, value); err != nil {
		return err
	}
	return w.Bucket(bucket).Put(key, value)
}

func (w *writeTx) delete(bucket, key []byte) error {
	if err := w.note(bucket, deletion, key); err != nil {
		return err
	}
	return w.Bucket(bucket).Delete(key)
}

// beside returns a bucket that the journal does not know, to be written to: bbolt
// commits then. The first write makes it.
func (w *writeTx) beside(bucket []byte) (*bbolt.Bucket, error) {
	w.room = noRoom
	return w.CreateBucketIfNotExists(bucket)
}

// note notes an operation.
func (w *writeTx) note(bucket []byte, code byte, texts ...[]byte) error {
	for i, b := range journalBuckets {
		if string(b) != string(bucket) {
			continue
		}
		w.room--
		for _, text := range texts {
			w.room -= int64(textSize(text))
		}
		if !w.fits() {
			return nil
		}
		w.operations = append(w.operations, code|byte(i))
		for _, text := range texts {
			w.operations = appendText(w.operations, text)
		}
		return nil
	}
	return errNoBucket
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// textSize is what appendText appends.
func textSize(text []byte) int {
	var length [binary.MaxVarintLen64]byte
	return binary.PutUvarint(length[:], uint64(len(text))) + len(text)
}
