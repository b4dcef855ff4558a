package bolt

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// backwards reads a bucket from behind in the transaction under way, whose
// deletions may have left leaf pages empty: bbolt drops those when it commits. Its
// Cursor passes over them on its way forwards, but takes one for the beginning on
// its way back, and looks for the last entry for ever when all are empty.
type backwards struct {
	cursor *bbolt.Cursor
	first  []byte // key of the first entry; nil: there is none
	at     []byte // where the cursor is
}

func newBackwards(bucket *bbolt.Bucket) *backwards {
	first, _ := bucket.Cursor().First()
	return &backwards{cursor: bucket.Cursor(), first: first}
}

// before goes to the last entry whose key is before end.
func (b *backwards) before(end []byte) (key, value []byte) {
	if b.first == nil {
		return nil, nil
	}
	if b.at, _ = b.cursor.Seek(end); b.at != nil {
		return b.prev()
	}
	b.at, value = b.cursor.Last() // every entry is before end
	return b.at, value
}

// prev goes to the entry before; key is nil at the beginning.
func (b *backwards) prev() (key, value []byte) {
	if bytes.Compare(b.at, b.first) <= 0 {
		return nil, nil
	}
	for key == nil { // there is an entry before this one, behind empty pages perhaps
		key, value = b.cursor.Prev()
	}
	b.at = key
	return key, value
}
