package bolt

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"os"
)

// emptyUnfinished lets bbolt make a file again that it did not finish making.
func emptyUnfinished(file *os.File) error {
	if !locksFirst { // another process may be making it
		return nil
	}
	is, err := unfinished(file)
	if err != nil || !is {
		return err
	}
	return file.Truncate(0)
}

// unfinished reports whether a file is one that bbolt was making when the power
// failed: some of its sectors are as bbolt writes them first, and the others were
// never written. Such a file never held anything.
func unfinished(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	first := firstPages(os.Getpagesize())
	size := int(info.Size())
	if size > len(first) || size%os.Getpagesize() != 0 {
		return false, nil
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, info.Size()), content); err != nil {
		return false, err
	}
	const sector = 512
	empty := string(make([]byte, sector))
	for at := 0; at < size; at += sector {
		if got := string(content[at : at+sector]); got != empty && got != string(first[at:at+sector]) {
			return false, nil
		}
	}
	return true, nil
}

// firstPages are the pages of a new file of bbolt: two meta pages, an empty list
// of free pages, and an empty root.
func firstPages(pageSize int) []byte {
	const metaPage, version, freeList, root, pages = 0x04, 2, 2, 3, 4
	b, order := make([]byte, pages*pageSize), binary.NativeEndian
	for i, flags := range [pages]uint16{metaPage, metaPage, freePage, leafPage} {
		page := b[i*pageSize:]
		order.PutUint64(page, uint64(i))
		order.PutUint16(page[8:], flags)
		if flags != metaPage {
			continue
		}
		m := page[pageHeader : pageHeader+metaSize]
		order.PutUint32(m, metaMagic)
		order.PutUint32(m[4:], version)
		order.PutUint32(m[8:], uint32(pageSize))
		order.PutUint64(m[16:], root)
		order.PutUint64(m[32:], freeList)
		order.PutUint64(m[40:], pages)
		order.PutUint64(m[48:], uint64(i)) // transaction
		sum := fnv.New64a()
		_, _ = sum.Write(m[:56])
		order.PutUint64(m[56:], sum.Sum64())
	}
	return b
}
