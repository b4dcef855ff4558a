package bolt

import (
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"unsafe"

	"go.etcd.io/bbolt"
)

var errDisk = errors.New("the disk refuses it")

const (
	cachePage  = 4096 // what the system writes to a disk at once, at any time
	diskSector = 512  // what a disk writes as a whole or not
)

// lossyDisk stands between a database and its file, and knows what the disk must
// have: what was written before the last sync. Of what was written since, it may
// have any part. Once a sync failed, the system takes what it was about for
// written, and writes it only with another change of the same page.
type lossyDisk struct {
	random  *rand.Rand
	file    *os.File
	durable []byte
	dirty   map[int64][][]byte // the contents that a page had since the last sync
	order   []int64            // the dirty pages as they were first written

	// What bbolt syncs itself is seen by what follows it: it syncs pages before it
	// writes a meta page, and the meta page before Commit returns.
	pageSize int64
	owed     bool

	// What goes wrong, counted in writes or syncs from now on; 0: nothing.
	failWrite, failSync, failPages, failMeta int  // failPages is of bbolt's sync before the meta page, failMeta of that behind it
	killWrite, killSync, killMeta            int  // the process dies before a write or sync, or behind the write of a meta page
	killed                                   bool // no write reaches the file any more

	onSync    func() // before what is dirty becomes durable
	onDurable func() // after a transaction became durable
}

// attach takes over what bbolt and the database write to a file that was just opened.
func (l *lossyDisk) attach(db *bbolt.DB, file *os.File) rawFile {
	db.NoSync, db.NoGrowSync = true, false
	l.file, l.pageSize = file, int64(db.Info().PageSize)
	l.killed = false
	if l.durable == nil {
		l.durable = l.content()
		l.dirty = map[int64][][]byte{}
	}
	hookWrites(db, l.bboltWrites)
	return l
}

// hookWrites replaces the function that bbolt writes with.
func hookWrites(db *bbolt.DB, write func(b []byte, at int64) (int, error)) {
	field := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	*(*func([]byte, int64) (int, error))(unsafe.Pointer(field.UnsafeAddr())) = write
}

func (l *lossyDisk) content() []byte {
	content, err := os.ReadFile(l.file.Name())
	if err != nil {
		panic(err)
	}
	return content
}

func (l *lossyDisk) WriteAt(b []byte, at int64) (int, error) {
	l.settleDebt()
	return l.write(b, at)
}

func (l *lossyDisk) Sync() error {
	l.settleDebt()
	if due(&l.killSync) {
		l.killed = true
	}
	if l.killed {
		return errDisk
	}
	if due(&l.failSync) {
		l.lose()
		return errDisk
	}
	l.synced()
	return nil
}

func (l *lossyDisk) bboltWrites(b []byte, at int64) (int, error) {
	l.settleDebt()
	if at >= 2*l.pageSize {
		return l.write(b, at)
	}
	switch {
	case l.killed:
	case due(&l.failPages):
		l.lose()
		return 0, errDisk
	default:
		l.synced()
	}
	n, err := l.write(b, at)
	if err == nil && due(&l.failMeta) { // as when the sync behind it fails
		l.lose()
		return n, errDisk
	}
	if err == nil && due(&l.killMeta) {
		l.killed, err = true, errDisk
	}
	l.owed = err == nil
	return n, err
}

// settleDebt makes durable what bbolt has synced by now.
func (l *lossyDisk) settleDebt() {
	if l.owed {
		l.owed = false
		l.synced()
		l.onDurable()
	}
}

func due(n *int) bool {
	*n--
	return *n == 0
}

func (l *lossyDisk) write(b []byte, at int64) (int, error) {
	if l.killed {
		return 0, errDisk
	}
	l.killed = due(&l.killWrite)
	failed := l.killed || due(&l.failWrite)
	if failed { // between two sectors
		b = b[:l.random.IntN(len(b)+1)/diskSector*diskSector]
	}
	n, err := l.file.WriteAt(b, at)
	if err != nil {
		return n, err
	}
	for page := at / cachePage; page*cachePage < at+int64(len(b)); page++ {
		content := make([]byte, cachePage)
		_, _ = l.file.ReadAt(content, page*cachePage) // the file may end in the page
		if l.dirty[page] == nil {
			l.order = append(l.order, page)
		}
		l.dirty[page] = append(l.dirty[page], content)
	}
	if failed {
		return n, errDisk
	}
	return n, nil
}

// synced makes everything durable.
func (l *lossyDisk) synced() {
	if len(l.dirty) > 0 {
		l.onSync()
	}
	l.durable = l.image(func(int64, int, int) int { return -1 })
	l.clean()
}

// lose is a sync that fails: the disk has any part of it.
func (l *lossyDisk) lose() {
	if len(l.dirty) > 0 {
		l.onSync()
	}
	l.durable = l.image(func(_ int64, _, versions int) int { return l.random.IntN(versions + 1) })
	l.clean()
}

func (l *lossyDisk) clean() { l.dirty, l.order = map[int64][][]byte{}, nil }

// image is what a disk may have when the power fails now. choose returns which of
// its contents a sector of a dirty page has: 0 the durable one, -1 the last.
func (l *lossyDisk) image(choose func(page int64, sector, versions int) int) []byte {
	info, err := os.Stat(l.file.Name())
	if err != nil {
		panic(err)
	}
	image := make([]byte, max(info.Size(), int64(len(l.durable))))
	copy(image, l.durable)
	for _, page := range l.order {
		contents := l.dirty[page]
		for sector := range cachePage / diskSector {
			version := choose(page, sector, len(contents))
			if version < 0 {
				version = len(contents)
			}
			at := page*cachePage + int64(sector*diskSector)
			if version > 0 && at < int64(len(image)) {
				copy(image[at:], contents[version-1][sector*diskSector:][:diskSector])
			}
		}
	}
	return image
}

// crashes returns files as a power failure may leave them now: nothing, everything,
// the first or last pages, one page alone or missing, and many at random, the half
// of them torn inside of pages.
func (l *lossyDisk) crashes(random int) (images [][]byte) {
	last := func(has bool) int {
		if has {
			return -1
		}
		return 0
	}
	pages := len(l.order)
	ones := []int{0, pages - 1, l.random.IntN(pages)}
	at := func(page int64) int { return slices.Index(l.order, page) }
	images = append(images,
		l.image(func(int64, int, int) int { return 0 }),
		l.image(func(int64, int, int) int { return -1 }))
	if pages > 1 {
		for _, one := range slices.Compact(ones) {
			images = append(images,
				l.image(func(page int64, _, _ int) int { return last(at(page) == one) }),
				l.image(func(page int64, _, _ int) int { return last(at(page) != one) }),
				l.image(func(page int64, _, _ int) int { return last(at(page) < one) }))
		}
	}
	for i := range random {
		whole := map[int64]int{}
		images = append(images, l.image(func(page int64, sector, versions int) int {
			if i%2 == 0 {
				return l.random.IntN(versions + 1)
			}
			if sector == 0 {
				whole[page] = l.random.IntN(versions + 1)
			}
			return whole[page]
		}))
	}
	return images
}
