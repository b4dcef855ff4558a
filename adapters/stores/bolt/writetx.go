package bolt

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// writeTx is a transaction that changes entries. It keeps the sum of all entries of the
// file, which verify adds up again when the file is opened: an entry that a damaged page
// hides, or an older one that it shows, is found. Beside the sum is the number of the
// transaction: an outdated root page has the sum of the entries that it leads to.
type writeTx struct {
	tx    *bbolt.Tx
	sum   uint64
	after []func() // called when the transaction is durable
}

// do runs write between the reading of the sum and its writing.
func (w *writeTx) do(write func(w *writeTx) error) error {
	stored := w.tx.Bucket(metaBucket).Get(sumKey)
	if len(stored) != sumSize {
		return core.Errorf(core.CodeCorrupt, "the sum of the entries is %d bytes long", len(stored))
	}
	w.sum = binary.BigEndian.Uint64(stored)
	if err := write(w); err != nil {
		return err
	}
	return w.putSum()
}

func (w *writeTx) putSum() error {
	return w.tx.Bucket(metaBucket).Put(sumKey, encodeSum(w.sum, uint64(w.tx.ID())))
}

// fillPercent is the fill of a page that bbolt splits. Most entries sort after the others
// of their thread, tenant or hour.
const fillPercent = 0.7

func (w *writeTx) bucket(name []byte) *bbolt.Bucket {
	b := w.tx.Bucket(name)
	b.FillPercent = fillPercent
	return b
}

// put writes a value, which must not be changed afterwards, and is not nil.
func (w *writeTx) put(bucket, key, value []byte) error {
	b := w.bucket(bucket)
	if old := b.Get(key); old != nil {
		w.sum -= entrySum(bucket, key, old)
	}
	w.sum += entrySum(bucket, key, value)
	return b.Put(key, value)
}

// remove removes an entry, if there is one.
func (w *writeTx) remove(bucket, key []byte) error {
	b := w.bucket(bucket)
	old := b.Get(key)
	if old == nil {
		return nil
	}
	w.sum -= entrySum(bucket, key, old)
	return b.Delete(key)
}

// sumSize is the length of what encodeSum returns.
const sumSize = 16

// encodeSum is the stored form of the sum, with the transaction that wrote it.
func encodeSum(sum, transaction uint64) []byte {
	b := make([]byte, 0, sumSize)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, sum), transaction)
}

// entrySum is an entry's part in the sum: FNV-1a, 64 bits, of its bucket, its key and the
// header of its value, mixed so that the parts of similar entries do not cancel out. The
// header has the checksum of the content.
func entrySum(bucket, key, value []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, part := range [...][]byte{bucket, []byte(separator), key, value[:min(len(value), headerSize)]} {
		for _, c := range part {
			h = (h ^ uint64(c)) * prime
		}
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// eachThread calls do with the key and the head of each thread that has one, in order.
func eachThread(tx *bbolt.Tx, do func(at, value []byte)) {
	cursor := tx.Bucket(threadsBucket).Cursor()
	for at, value := cursor.First(); at != nil; {
		end := threadEnd(at)
		if end == nil { // damaged
			at, value = cursor.Next()
			continue
		}
		if len(end) == len(at) {
			do(at, value)
		}
		at, value = cursor.Seek(end)
	}
}

// threadEnd is the first key that sorts after those of the thread that a key belongs to;
// nil: the key belongs to no thread. The key of a head has the same length.
func threadEnd(at []byte) []byte {
	tenant := bytes.IndexByte(at, 0)
	name := bytes.IndexByte(at[tenant+1:], 0)
	if tenant < 0 || name < 0 {
		return nil
	}
	end := bytes.Clone(at[:tenant+1+name+1])
	end[len(end)-1]++
	return end
}
