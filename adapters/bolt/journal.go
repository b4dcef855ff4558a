package bolt

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
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
	id    [journalHeader]byte // what stands before the first frame
	begin int64               // offset of the first frame in the file
	size  int64               // of the room for frames

	transaction uint64 // that the frames belong to
	end         int64  // of the last frame, from begin
	unread      bool   // nobody knows yet which frames there are
	torn        bool   // behind end stands a frame that may be on the disk, and whose writer was told that it failed
	sum         uint32 // of the last frame, which the next one goes on from
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

// journalSize is the size of a new journal. So many bytes of frames there are
// between two commits of bbolt, some 400 steps of a run, and reopening after a
// crash applies as many again.
const journalSize = 1 << 20

// A journal begins with its header: 0 a text that says what it is, 16 random
// bytes. It shows that the frames are written where bbolt's map has the journal.
const (
	journalHeader = 32
	journalMagic  = "reveille journal"
)

// A frame is a header and its operations. The header is, in big-endian integers:
// 0 the length of the operations, 4 the checksum, 8 the transaction. The checksum
// (CRC-32C) covers the frame before it, so that frames hold together, and that of
// the first one the journal's header and the meta page in force: frames say what
// to do with the state that they were written for, and with no other. A frame
// that does not match, and that no other goes on from, is where the journal ends. An operation is a byte for
// its bucket, with a bit for a deletion; then key and value, each behind its
// length as a varint.
const (
	frameHeader = 16
	deletion    = 0x80
)

// journalBuckets are numbered in the operations: their order never changes.
var journalBuckets = [...][]byte{metaBucket, headsBucket, recordsBucket, pointersBucket, dueBucket, expiryBucket}

// newJournal is the value of an empty journal.
func newJournal(size int64) []byte {
	value := make([]byte, size)
	_, _ = rand.Read(value[copy(value, journalMagic):journalHeader]) // never fails
	return value
}

// openJournal finds the room for frames: bbolt's map shows where in the file the
// value lies. Which of them belong to the transaction is not known yet.
func openJournal(tx *bbolt.Tx, file journalFile) (*journal, error) {
	bucket := tx.Bucket(journalBucket)
	if bucket == nil {
		return nil, core.Errorf(core.CodeCorrupt, "bucket %q is missing", journalBucket)
	}
	value := bucket.Get(framesKey)
	if len(value) <= journalHeader {
		return nil, core.Errorf(core.CodeCorrupt, "the journal has %d bytes", len(value))
	}
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(value))) - tx.DB().Info().Data)
	if at <= 0 || at+int64(len(value)) > tx.Size() {
		return nil, core.Errorf(core.CodeCorrupt, "the journal lies at %d, outside of the file", at)
	}
	j := &journal{file: file, begin: at + journalHeader, size: int64(len(value)) - journalHeader, unread: true}
	if _, err := file.ReadAt(j.id[:], at); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	if !bytes.HasPrefix(j.id[:], []byte(journalMagic)) || !bytes.HasPrefix(value, j.id[:]) {
		return nil, core.Errorf(core.CodeCorrupt, "at %d is no journal", at)
	}
	return j, nil
}

// restart begins the frames of a transaction, which goes on from a meta page.
func (j *journal) restart(transaction int, meta []byte) {
	j.transaction, j.end = uint64(transaction), 0
	j.sum = crc32.Update(crc32.Checksum(j.id[:], castagnoli), castagnoli, meta)
}

// room returns how many bytes of operations the next frame may have; less than
// none: there is no room for a frame.
func (j *journal) room() int64 { return j.size - j.end - frameHeader }

// append stores operations as one frame and syncs it. After an error the frame
// may be there all the same: see [journal.void].
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
		j.torn = true
		return err
	}
	j.end, j.sum = j.end+int64(len(frame)), sum
	return nil
}

// void writes over the header of a torn frame, and with it the page that it
// shares with the frame before it; both are durable when the file is synced.
func (j *journal) void() error {
	_, err := j.file.WriteAt(make([]byte, frameHeader), j.begin+j.end)
	return err
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
	for {
		frame := j.cut(content[j.end:])
		if frame == nil {
			return nil
		}
		sum := frameSum(j.sum, frame)
		if stored := binary.BigEndian.Uint32(frame[4:]); stored != sum || j.foreign(frame) {
			return j.last(content[j.end+int64(len(frame)):], stored, sum)
		}
		if err := redo(tx, frame[frameHeader:]); err != nil {
			return fmt.Errorf("journal at %d: %w", j.end, err)
		}
		j.end, j.sum = j.end+int64(len(frame)), sum
	}
}

// cut takes what may be a frame off content; nil: nothing there can be one.
func (j *journal) cut(content []byte) []byte {
	if len(content) < frameHeader {
		return nil
	}
	end := frameHeader + int64(binary.BigEndian.Uint32(content))
	if end == frameHeader || end > int64(len(content)) {
		return nil
	}
	return content[:end]
}

// foreign reports whether a frame belongs to another transaction.
func (j *journal) foreign(frame []byte) bool {
	return binary.BigEndian.Uint64(frame[8:]) != j.transaction
}

// last returns an error when what stands behind a frame that does not match goes
// on from it, by the checksum that it has or should have. A frame is written when
// the one before it is on the disk: that one was whole once, and is damaged.
func (j *journal) last(behind []byte, sums ...uint32) error {
	next := j.cut(behind)
	if next == nil || j.foreign(next) {
		return nil
	}
	for _, sum := range sums {
		if frameSum(sum, next) == binary.BigEndian.Uint32(next[4:]) {
			return core.Errorf(core.CodeCorrupt, "the journal is damaged at %d, and goes on behind it", j.end)
		}
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
