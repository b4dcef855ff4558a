package bolt

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/reveille-run/reveille/core"
)

// A page begins with its header: 0 its number, 8 flags, 10 count of elements, 12
// how many pages more it has. Elements of 16 bytes follow: in a branch page 0
// the offset from the element to its key, 4 the key's length, 8 the number of a
// child; in a leaf page 0 flags, 4 the offset from the element to its key, 8 the
// key's length, 12 that of the value behind it. A leaf's value that is a
// bucket begins with the number of its root page, 0 when it lies in the value
// itself. A free list has page numbers of 8 bytes; a count of 65535 means that
// the first of them is the count.
const (
	branchPage   = 0x01
	leafPage     = 0x02
	freePage     = 0x10
	elementSize  = 16
	bucketLeaf   = 0x01
	noFreeList   = math.MaxUint64
	manyElements = 0xFFFF
)

// walk looks at how the pages of a file hang together: bbolt trusts that, and
// would run in circles, ask for memory without end or overwrite what is stored.
// What stands in the pages is not looked at; checksums find that when it is read.
type walk struct {
	file io.ReaderAt
	meta *meta
	seen []bool   // pages that something refers to
	open []uint64 // pages still to look at
}

func corruptPage(page uint64, what string) error {
	return core.Errorf(core.CodeCorrupt, "page %d %s", page, what)
}

// checkPages walks over a file from its meta page.
func checkPages(file io.ReaderAt, m *meta) error {
	w := &walk{file: file, meta: m, seen: make([]bool, m.pages), open: []uint64{m.root}}
	for len(w.open) > 0 {
		page := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		if err := w.tree(page); err != nil {
			return err
		}
	}
	if m.freeList == noFreeList {
		return nil
	}
	return w.free(m.freeList)
}

// read returns a page with those that belong to it, and marks them.
func (w *walk) read(page uint64) (content []byte, flags uint16, count uint64, err error) {
	if page < 2 || page >= w.meta.pages {
		return nil, 0, 0, corruptPage(page, "is referred to and does not exist")
	}
	header := make([]byte, pageHeader)
	if _, err := w.file.ReadAt(header, int64(page*w.meta.pageSize)); err != nil {
		return nil, 0, 0, err
	}
	order := binary.NativeEndian
	more := uint64(order.Uint32(header[12:]))
	if order.Uint64(header) != page || more >= w.meta.pages-page {
		return nil, 0, 0, corruptPage(page, "has a wrong header")
	}
	for p := page; p <= page+more; p++ {
		if w.seen[p] {
			return nil, 0, 0, corruptPage(p, "is referred to twice")
		}
		w.seen[p] = true
	}
	content = make([]byte, (more+1)*w.meta.pageSize)
	if _, err := w.file.ReadAt(content, int64(page*w.meta.pageSize)); err != nil {
		return nil, 0, 0, err
	}
	return content, order.Uint16(header[8:]), uint64(order.Uint16(header[10:])), nil
}

// tree looks at a branch or leaf page, and notes its children.
func (w *walk) tree(page uint64) error {
	content, flags, count, err := w.read(page)
	if err != nil {
		return err
	}
	if flags != branchPage && flags != leafPage || pageHeader+count*elementSize > uint64(len(content)) || flags == branchPage && count == 0 {
		return corruptPage(page, "has a wrong header")
	}
	childOf := leafChild
	if flags == branchPage {
		childOf = branchChild
	}
	for at := uint64(pageHeader); at < pageHeader+count*elementSize; at += elementSize {
		child, ok := childOf(content[at:])
		if !ok {
			return corruptPage(page, "has an element behind its end")
		}
		if child != 0 {
			w.open = append(w.open, child)
		}
	}
	return nil
}

// branchChild reads an element of a branch page, with which rest begins; ok is
// false when its key lies behind the page's end.
func branchChild(rest []byte) (child uint64, ok bool) {
	order := binary.NativeEndian
	end := uint64(order.Uint32(rest)) + uint64(order.Uint32(rest[4:]))
	return max(order.Uint64(rest[8:]), 1), end <= uint64(len(rest)) // 1 is never a child: 0 would mean that there is none
}

// leafChild reads an element of a leaf page. child is the root page of the
// bucket that it holds; 0 when it holds none, or one without pages of its own.
func leafChild(rest []byte) (child uint64, ok bool) {
	order := binary.NativeEndian
	value := uint64(order.Uint32(rest[4:])) + uint64(order.Uint32(rest[8:]))
	size := uint64(order.Uint32(rest[12:]))
	switch {
	case value+size > uint64(len(rest)):
		return 0, false
	case order.Uint32(rest)&bucketLeaf == 0:
		return 0, true
	case size < 16:
		return 0, false
	}
	return order.Uint64(rest[value:]), true
}

// free looks at the list of free pages: what is in use must not be in it.
func (w *walk) free(page uint64) error {
	content, flags, count, err := w.read(page)
	if err != nil {
		return err
	}
	ids := content[pageHeader:]
	if count == manyElements {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if flags != freePage || count > uint64(len(ids)/8) {
		return corruptPage(page, "has a wrong header")
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id < 2 || id >= w.meta.pages || w.seen[id] {
			return corruptPage(id, "is listed as free and is not")
		}
		w.seen[id] = true
	}
	return nil
}
