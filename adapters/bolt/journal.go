package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// journal is what was written since bbolt last committed: one frame for each
// shared write, one after the other. It lies inside the file, in the pages of a
// value that bbolt never changes and so never moves. A write is durable when its
// frame is: one sync of pages that have their place on the disk already, where a
// transaction of bbolt takes two, of pages all over the file.
//
// Frames belong to the transaction of bbolt that is under way. When that is
// committed its number is used up, and with it every frame counts no more: that
// empties the journal, in one write together with what the frames say.
type journal struct {
	file  journalFile
	begin int64 // offset of the first frame in the file
	size  int64 // of the room for frames

	transaction uint64 // that the frames belong to
	end         int64  // of the last frame, from begin
	sum         uint32 // its checksum, which the next one goes on from
	buffer      []byte
}

// journalFile is what the journal needs of an *os.File.
type journalFile interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

// dataFile is a file whose Sync may do no more than what has been written needs.
type dataFile struct{ *os.File }

// journalSize is how many bytes of frames there are between two commits of
// bbolt, some 400 steps of a run. Reopening after a crash applies as many again.
const journalSize = 1 << 20

// A frame is a header and its operations. The header is, in big-endian integers:
// 0 the length of the operations, 4 the checksum, 8 the transaction. The checksum
// (CRC-32C) covers the frame before it, so that frames hold together; a frame
// that does not match it is where the journal ends. An operation is a byte for
// its bucket, with a bit for a deletion; then key and value, each behind its
// length as a varint.
const (
	frameHeader = 16
	deletion    = 0x80
)

// journalBuckets are numbered in the operations: their order never changes.
var journalBuckets = [...][]byte{metaBucket, headsBucket, recordsBucket, pointersBucket, dueBucket, expiryBucket}

// openJournal finds the room for frames: bbolt's map shows where in the file the
// value lies. How many of them belong to the transaction is not known yet.
func openJournal(tx *bbolt.Tx, file journalFile) (*journal, error) {
	bucket := tx.Bucket(journalBucket)
	if bucket == nil {
		return nil, core.Errorf(core.CodeCorrupt, "bucket %q is missing", journalBucket)
	}
	value := bucket.Get(framesKey)
	if len(value) != journalSize {
		return nil, core.Errorf(core.CodeCorrupt, "the journal has %d bytes, want %d", len(value), journalSize)
	}
	base := tx.DB().Info().Data
	begin := int64(uintptr(unsafe.Pointer(unsafe.SliceData(value))) - base)
	if begin <= 0 || begin+journalSize > tx.Size() {
		return nil, core.Errorf(core.CodeCorrupt, "the journal lies at %d, outside of the file", begin)
	}
	return &journal{file: file, begin: begin, size: journalSize, transaction: uint64(tx.ID()), end: journalSize}, nil
}

// restart begins the frames of a transaction.
func (j *journal) restart(transaction int) {
	j.transaction, j.end, j.sum = uint64(transaction), 0, 0
}

// fits reports whether there is room for the operations.
func (j *journal) fits(operations []byte) bool {
	return j.end+frameHeader+int64(len(operations)) <= j.size
}

// append stores operations as one frame and syncs it. After an error the frame
// may be there all the same; the next one takes its place.
func (j *journal) append(operations []byte) error {
	frame := append(j.buffer[:0], make([]byte, frameHeader)...)
	frame = append(frame, operations...)
	j.buffer = frame
	binary.BigEndian.PutUint32(frame, uint32(len(operations)))
	binary.BigEndian.PutUint64(frame[8:], j.transaction)
	sum := frameSum(j.sum, frame)
	binary.BigEndian.PutUint32(frame[4:], sum)
	if _, err := j.file.WriteAt(frame, j.begin+j.end); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.end, j.sum = j.end+int64(len(frame)), sum
	return nil
}

// frameSum is the checksum of a frame behind one with the sum before.
func frameSum(before uint32, frame []byte) uint32 {
	sum := crc32.Update(before, castagnoli, frame[:4])
	return crc32.Update(sum, castagnoli, frame[8:])
}

// replay applies the frames of the journal's transaction that end at limit or
// before, and leaves the journal behind the last of them.
func (j *journal) replay(tx *bbolt.Tx, limit int64) error {
	content := make([]byte, limit)
	if _, err := j.file.ReadAt(content, j.begin); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for j.end+frameHeader <= limit {
		frame := content[j.end:]
		end := frameHeader + int64(binary.BigEndian.Uint32(frame))
		if end == frameHeader || end > int64(len(frame)) || binary.BigEndian.Uint64(frame[8:]) != j.transaction {
			return nil
		}
		sum := frameSum(j.sum, frame[:end])
		if binary.BigEndian.Uint32(frame[4:]) != sum {
			return nil
		}
		if err := redo(tx, frame[frameHeader:end]); err != nil {
			return fmt.Errorf("journal at %d: %w", j.end, err)
		}
		j.end, j.sum = j.end+end, sum
	}
	return nil
}

// redo applies the operations of a frame.
func redo(tx *bbolt.Tx, operations []byte) error {
	malformed := core.Errorf(core.CodeCorrupt, "an operation is malformed")
	for rest := operations; len(rest) > 0; {
		code := rest[0]
		key, behind, ok := cutText(rest[1:])
		if number := int(code &^ deletion); !ok || number >= len(journalBuckets) {
			return malformed
		}
		bucket := tx.Bucket(journalBuckets[code&^deletion])
		if code&deletion != 0 {
			if err := bucket.Delete(key); err != nil {
				return err
			}
			rest = behind
			continue
		}
		value, behind, ok := cutText(behind)
		if !ok {
			return malformed
		}
		if err := bucket.Put(key, value); err != nil {
			return err
		}
		rest = behind
	}
	return nil
}

// cutText takes a text behind its length off b.
func cutText(b []byte) (text, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(length)], b[n+int(length):], true
}

// writeTx is the transaction under way, with what is done to it noted for the
// journal. All that is read of it must be copied before the next write.
type writeTx struct {
	*bbolt.Tx
	operations []byte
}

var errNoBucket = errors.New("the bucket is none that the journal knows")

// put writes a value, which must not be changed afterwards.
func (w *writeTx) put(bucket, key, value []byte) error {
	if err := w.note(bucket, 0, key); err != nil {
		return err
	}
	w.operations = appendText(w.operations, value)
	return w.Bucket(bucket).Put(key, value)
}

func (w *writeTx) delete(bucket, key []byte) error {
	if err := w.note(bucket, deletion, key); err != nil {
		return err
	}
	return w.Bucket(bucket).Delete(key)
}

func (w *writeTx) note(bucket []byte, code byte, key []byte) error {
	for i, b := range journalBuckets {
		if string(b) == string(bucket) {
			w.operations = appendText(append(w.operations, code|byte(i)), key)
			return nil
		}
	}
	return errNoBucket
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
