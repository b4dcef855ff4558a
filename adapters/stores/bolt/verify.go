package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// verify reads a file from its meta pages to the last key before bbolt maps it. bbolt
// trusts its pages: a damaged one makes it run in circles, end the process, or skip
// stored data. verify returns an error of code corrupt unless
//
//   - both meta pages are valid, so that the newest transaction is the one in force,
//   - each page is inside of the file, and is referred to once,
//   - keys are in the order that bbolt searches them in,
//   - the entries are those that were written: their [entrySum]s add up to the stored
//     sum, which is of the transaction in force.
//
// It does not read the content of values: their checksums are compared when they are
// read.
func verify(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	newest, err := newestMeta(file)
	if err != nil {
		return err
	}
	if uint64(info.Size())/newest.pageSize < newest.pages {
		return core.Errorf(core.CodeCorrupt, "the file has %d bytes, its meta page says %d or more", info.Size(), newest.pages*newest.pageSize)
	}
	w := &walk{file: file, pageSize: newest.pageSize, seen: make([]bool, newest.pages)}
	if err := w.tree(newest.root, nil, nil, nil, 0); err != nil {
		return err
	}
	if err := checkSchema(w.schema); err != nil {
		return err
	}
	for _, name := range buckets {
		if !slices.Contains(w.buckets, string(name)) {
			return core.Errorf(core.CodeCorrupt, "bucket %q is missing", name)
		}
	}
	if !bytes.Equal(w.stored, encodeSum(w.sum, newest.transaction)) {
		return core.Errorf(core.CodeCorrupt, "its entries are missing or outdated")
	}
	return nil
}

// checkSchema returns an error unless this program reads the layout that a file names.
func checkSchema(text []byte) error {
	number, err := strconv.Atoi(string(text))
	switch {
	case text == nil:
		return core.Errorf(core.CodeInvalid, "the file is a database of another program: it has no schema number")
	case err != nil || number < 1:
		return core.Errorf(core.CodeCorrupt, "schema number %q is not one", core.Excerpt(string(text)))
	case number < schemaNumber:
		return fmt.Errorf("%w, an older one (schema %d, this one reads %d): move the file away to start with an empty one, or open it with that version", errSchema, number, schemaNumber)
	case number > schemaNumber:
		return fmt.Errorf("%w, a newer one (schema %d, this one reads %d): run that version, or move the file away to start with an empty one", errSchema, number, schemaNumber)
	}
	return nil
}

// A page of bbolt begins with its header: 0 its number, 8 flags, 10 count of elements, 12
// the number of further pages that belong to it. The first two pages are meta pages,
// written in turn. A meta page has, after its header, in the byte order of the machine:
//
//	0 magic, 4 version, 8 page size, 16 root page, 32 page of the free list,
//	40 number of pages, 48 transaction, 56 FNV-1a of the bytes before
//
// Elements of 16 bytes follow the header of the other pages. In a branch page: 0 offset
// of the key from the element, 4 length of the key, 8 page of the child. In a leaf page:
// 0 flags, 4 offset of the key, 8 length of the key, 12 length of the value after the
// key. The value of a bucket is the number of its root page and its sequence, or 0, its
// sequence, and a leaf page.
const (
	pageHeader   = 16
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	branchPage   = 0x01
	leafPage     = 0x02
	elementSize  = 16
	bucketLeaf   = 0x01
	bucketHeader = 16
	smallestPage = 1 << 10
	largestPage  = 1 << 24
	deepest      = 32 // levels of pages; bbolt's have half of its branch pages' elements at least
	noFreeList   = 1<<64 - 1
)

// meta is what a meta page says.
type meta struct {
	pageSize, root, freeList, pages, transaction uint64
	at                                           int64                       // where it is in the file
	content                                      [pageHeader + metaSize]byte // of the page, header included
}

// newestMeta reads the meta page in force. It wants both to be valid: bbolt takes the older
// one where the newest is damaged, and a transaction would be lost.
func newestMeta(file io.ReaderAt) (*meta, error) {
	first, magic, err := readMeta(file, 0)
	if err != nil {
		return nil, err
	}
	at := int64(os.Getpagesize())
	if first != nil {
		at = int64(first.pageSize)
	}
	second, magicToo, err := readMeta(file, at)
	switch {
	case err != nil:
		return nil, err
	case first == nil && !magic && !magicToo:
		return nil, core.Errorf(core.CodeInvalid, "the file is not a database of this program")
	case first == nil && second == nil:
		return nil, core.Errorf(core.CodeCorrupt, "neither of its meta pages is valid")
	case first == nil:
		return nil, core.Errorf(core.CodeCorrupt, "meta page 0 is not valid, and the newest transaction may be lost")
	case second == nil:
		return nil, core.Errorf(core.CodeCorrupt, "meta page 1 is not valid, and the newest transaction may be lost")
	case first.transaction > second.transaction, first.transaction == second.transaction && first.transaction%2 == 0:
		return first, nil // bbolt writes an even transaction there; where one was copied over the other both have it
	}
	return second, nil
}

// readMeta returns nil for a meta page that is not valid; magic reports whether it has
// the magic number of one.
func readMeta(file io.ReaderAt, at int64) (m *meta, magic bool, err error) {
	m = &meta{at: at}
	if _, err := file.ReadAt(m.content[:], at); errors.Is(err, io.EOF) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	order, b := binary.NativeEndian, m.content[pageHeader:]
	magic = order.Uint32(b) == metaMagic
	sum := fnv.New64a()
	_, _ = sum.Write(b[:56])
	m.pageSize, m.root, m.freeList = uint64(order.Uint32(b[8:])), order.Uint64(b[16:]), order.Uint64(b[32:])
	m.pages, m.transaction = order.Uint64(b[40:]), order.Uint64(b[48:])
	if !magic || sum.Sum64() != order.Uint64(b[56:]) || m.pageSize < smallestPage || m.pageSize > largestPage {
		return nil, magic, nil
	}
	return m, magic, nil
}

// walk goes over the pages of a file, and over each page once.
type walk struct {
	file           io.ReaderAt
	pageSize       uint64
	seen           []bool          // by page: something refers to it
	rooms          [deepest][]byte // by level: room for a page
	buckets        []string
	sum            uint64 // of the entries so far
	schema, stored []byte // the schema number and the sum that the file says; nil: none
}

func corruptPage(page uint64, what string) error {
	return core.Errorf(core.CodeCorrupt, "page %d %s", page, what)
}

// read returns a page with those that belong to it, and marks them.
func (w *walk) read(page uint64, level int) ([]byte, error) {
	pages := uint64(len(w.seen))
	if page < 2 || page >= pages {
		return nil, corruptPage(page, "is referred to and does not exist")
	}
	if level >= deepest {
		return nil, corruptPage(page, "lies too deep")
	}
	room := w.rooms[level]
	if room == nil {
		room = make([]byte, w.pageSize)
	}
	if _, err := w.file.ReadAt(room[:w.pageSize], int64(page*w.pageSize)); err != nil {
		return nil, err
	}
	more := uint64(binary.NativeEndian.Uint32(room[12:]))
	if binary.NativeEndian.Uint64(room) != page || more >= pages-page {
		return nil, corruptPage(page, "has a wrong header")
	}
	for p := page; p <= page+more; p++ {
		if w.seen[p] {
			return nil, corruptPage(p, "is referred to twice")
		}
		w.seen[p] = true
	}
	if size := (more + 1) * w.pageSize; size > uint64(len(room)) {
		room = append(room, make([]byte, size-uint64(len(room)))...)
	}
	w.rooms[level] = room
	if _, err := w.file.ReadAt(room[w.pageSize:(more+1)*w.pageSize], int64((page+1)*w.pageSize)); err != nil {
		return nil, err
	}
	return room[:(more+1)*w.pageSize], nil
}

// tree goes over a page and those below it. Their keys are from low on and before high,
// nil: any. bucket is the bucket that they belong to, nil: the root, which has buckets.
func (w *walk) tree(page uint64, bucket, low, high []byte, level int) error {
	content, err := w.read(page, level)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	flags, count := order.Uint16(content[8:]), uint64(order.Uint16(content[10:]))
	switch {
	case pageHeader+count*elementSize > uint64(len(content)), flags == branchPage && count == 0:
		return corruptPage(page, "has a wrong header")
	case flags == leafPage:
		return w.leaf(page, content, count, bucket, low, high, level)
	case flags != branchPage:
		return corruptPage(page, "has a wrong header")
	}
	key, ok := branchKey(content, 0)
	for i := range count {
		next, nextOK := high, true
		if i+1 < count {
			next, nextOK = branchKey(content, i+1)
		}
		if !ok || !nextOK {
			return corruptPage(page, "has an element after its end")
		}
		if bytes.Compare(key, low) > 0 {
			low = key
		}
		if err := w.tree(order.Uint64(content[pageHeader+i*elementSize+8:]), bucket, low, next, level+1); err != nil {
			return err
		}
		key = next
	}
	return nil
}

// branchKey is the key of an element of a branch page; ok is false where the page ends
// before it.
func branchKey(content []byte, i uint64) (key []byte, ok bool) {
	at := pageHeader + i*elementSize
	begin := at + uint64(binary.NativeEndian.Uint32(content[at:]))
	return cut(content, begin, uint64(binary.NativeEndian.Uint32(content[at+4:])))
}

func cut(content []byte, begin, size uint64) (part []byte, ok bool) {
	if begin+size > uint64(len(content)) {
		return nil, false
	}
	return content[begin : begin+size : begin+size], true
}

// leaf goes over the elements of a leaf page.
func (w *walk) leaf(page uint64, content []byte, count uint64, bucket, low, high []byte, level int) error {
	order, before := binary.NativeEndian, low
	for i := range count {
		at := pageHeader + i*elementSize
		begin, size := at+uint64(order.Uint32(content[at+4:])), uint64(order.Uint32(content[at+8:]))
		key, ok := cut(content, begin, size)
		value, valueOK := cut(content, begin+size, uint64(order.Uint32(content[at+12:])))
		if !ok || !valueOK {
			return corruptPage(page, "has an element after its end")
		}
		if c := bytes.Compare(key, before); c < 0 || c == 0 && i > 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return corruptPage(page, "has keys out of order")
		}
		before = key
		isBucket := order.Uint32(content[at:])&bucketLeaf != 0
		switch {
		case isBucket != (bucket == nil):
			return corruptPage(page, "has a bucket where none belongs, or none where one belongs")
		case isBucket:
			if err := w.bucket(page, key, value, level); err != nil {
				return err
			}
		default:
			w.entry(bucket, key, value)
		}
	}
	return nil
}

// bucket goes over the bucket that a value of a leaf page is.
func (w *walk) bucket(page uint64, name, value []byte, level int) error {
	if len(value) < bucketHeader {
		return corruptPage(page, "has a bucket that is too short")
	}
	w.buckets = append(w.buckets, string(name))
	order := binary.NativeEndian
	if root := order.Uint64(value); root != 0 {
		return w.tree(root, name, nil, nil, level+1)
	}
	content := value[bucketHeader:]
	if len(content) < pageHeader || order.Uint16(content[8:]) != leafPage || pageHeader+uint64(order.Uint16(content[10:]))*elementSize > uint64(len(content)) {
		return corruptPage(page, "has a bucket with a wrong header")
	}
	return w.leaf(page, content, uint64(order.Uint16(content[10:])), name, nil, nil, level)
}

// entry counts an entry of a bucket.
func (w *walk) entry(bucket, key, value []byte) {
	if bytes.Equal(bucket, metaBucket) {
		switch {
		case bytes.Equal(key, sumKey):
			w.stored = bytes.Clone(value)
			return
		case bytes.Equal(key, schemaKey):
			w.schema = append([]byte{}, value...)
		}
	}
	w.sum += entrySum(bucket, key, value)
}
