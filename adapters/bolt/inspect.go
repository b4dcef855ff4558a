package bolt

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"

	"github.com/reveille-run/reveille/core"
)

// A bbolt file begins with two meta pages, of which the valid one with the
// higher transaction id is in force. Each is a page header of 16 bytes, then
// these fields in the byte order of the machine:
//
//	0 magic, 4 version, 8 page size, 16 root page, 32 free list page,
//	40 high water mark in pages, 48 transaction id, 56 FNV-1a of what is before
const (
	pageHeader = 16
	metaSize   = 64
	metaMagic  = 0xED0CDAED
	smallest   = 1 << 10 // page size of bbolt
	largest    = 1 << 16
)

// meta is what inspect needs of a meta page: pages is the high water mark.
type meta struct {
	pageSize, root, freeList, pages, transaction uint64
}

// inspect looks whether a file is as long as its meta page says, and whether its
// pages hang together, before bbolt maps it. A file without bytes is right. It
// reads every page once.
func inspect(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	newest, magic, err := newestMeta(file)
	if err != nil {
		return err
	}
	switch {
	case newest == nil && !magic:
		return core.Errorf(core.CodeInvalid, "the file is no database of this program")
	case newest == nil:
		return damaged(file.Name(), core.Errorf(core.CodeCorrupt, "neither of its meta pages is valid"))
	case uint64(info.Size())/newest.pageSize < newest.pages:
		return damaged(file.Name(), core.Errorf(core.CodeCorrupt, "the file has %d bytes, its meta page says %d or more", info.Size(), newest.pages*newest.pageSize))
	}
	if err := checkPages(file, newest); err != nil {
		return damaged(file.Name(), err)
	}
	return nil
}

// newestMeta finds the meta page in force; nil when none is valid. magic says
// that one was there once.
func newestMeta(file io.ReaderAt) (newest *meta, magic bool, err error) {
	offsets := []int64{0}
	for size := int64(smallest); size <= largest; size *= 2 { // the second one is one page on, and pages have several sizes
		offsets = append(offsets, size)
	}
	page := make([]byte, pageHeader+metaSize)
	for _, offset := range offsets {
		if _, err := file.ReadAt(page, offset); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, false, err
		}
		m, begins := parseMeta(page[pageHeader:])
		magic = magic || begins
		if m != nil && (newest == nil || m.transaction > newest.transaction) {
			newest = m
		}
	}
	return newest, magic, nil
}

func parseMeta(b []byte) (m *meta, magic bool) {
	order := binary.NativeEndian
	if order.Uint32(b) != metaMagic {
		return nil, false
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[:56])
	m = &meta{
		pageSize: uint64(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freeList: order.Uint64(b[32:]),
		pages: order.Uint64(b[40:]), transaction: order.Uint64(b[48:]),
	}
	if sum.Sum64() != order.Uint64(b[56:]) || m.pageSize < smallest {
		return nil, true
	}
	return m, true
}
