//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package bolt

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// zeroed notes how many bytes fill writes.
type zeroed struct {
	rawFile
	n int
}

func (z *zeroed) WriteAt(b []byte, at int64) (int, error) {
	if len(b) >= 64<<10 { // settle writes a meta page
		z.n += len(b)
	}
	return z.rawFile.WriteAt(b, at)
}

// The first transaction of a process writes no zeros over those of an earlier one, but into
// holes it does: bbolt makes a file longer without writing it, and so does a copy that leaves
// out zeros.
func TestZerosAreWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reveille.db")
	inProcess := func(version uint64) (zeros int) {
		z := &zeroed{}
		db, err := openDatabase(path, time.Second, func(_ *bbolt.DB, file *os.File) rawFile { z.rawFile = file; return z })
		if err != nil {
			t.Fatal(err)
		}
		s := storeOn(db, Options{Now: time.Now, MaxPayload: defaultMaxPayload})
		if err := writeVersion(t, s, version, 1000); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return z.n
	}
	if n := inProcess(1); n != 64<<10 {
		t.Errorf("the first process writes %d bytes of zeros, want 64 KiB", n)
	}
	for version := range uint64(3) {
		if n := inProcess(version + 2); n != 0 {
			t.Errorf("a later process writes %d bytes of zeros, want 0", n)
		}
	}
	if err := os.Truncate(path, 10<<20); err != nil {
		t.Fatal(err)
	}
	if n := inProcess(5); n != 64<<10 {
		t.Errorf("over a hole a process writes %d bytes of zeros, want 64 KiB", n)
	}
}
