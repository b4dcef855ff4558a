//go:build unix

package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// limitFiles lets no file of this process grow over size, as on a full disk, until
// the function that it returns is called. No parallel test runs beside the caller,
// and none before it that opens thousands of files: go test notes them in a file.
func limitFiles(t *testing.T, size int64) (lift func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = uint64(size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	lift = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(lift)
	return lift
}

func TestAFullDiskIsSaidUntilACommitSucceeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := core.ThreadKey{Tenant: "t", Thread: "t1"}
	put := func(seq uint64, size int) error {
		return s.Put(t.Context(), key, store.Record{Name: store.LogName(seq), Payload: make([]byte, size)})
	}
	if err := errors.Join(put(1, 1_500_000), s.Failing()); err != nil { // a file of 2 MiB: go test writes smaller ones
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	lift := limitFiles(t, info.Size())
	if err := put(2, 1<<20); core.CodeOf(err) != core.CodeUnavailable {
		t.Fatalf("a write to the full disk returns %v, want code unavailable", err)
	}
	if err := s.Failing(); core.CodeOf(err) != core.CodeUnavailable {
		t.Errorf("failing is %v, want code unavailable", err)
	}
	if _, err := s.Head(t.Context(), key); err != nil || s.Failing() == nil {
		t.Errorf("after a read, which has the error %v, failing is %v", err, s.Failing())
	}
	if err := s.Probe(t.Context()); core.CodeOf(err) != core.CodeUnavailable || s.Failing() == nil {
		t.Errorf("a probe of the full disk returns %v, then failing is %v", err, s.Failing())
	}

	lift()
	if err := errors.Join(s.Probe(t.Context()), s.Failing()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := put(2, 1<<20); err != nil {
		t.Errorf("the write again: %v", err)
	}
}

// The disk is full when the process starts: what is stored is read, and a write says why
// it is refused.
func TestAFullDiskIsOpenedAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := core.ThreadKey{Tenant: "t", Thread: "t1"}
	for seq := range uint64(8) {
		if err := s.Put(t.Context(), key, store.Record{Name: store.LogName(seq + 1), Payload: bytes.Repeat([]byte{byte(seq)}, 64<<10)}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}

	lift := limitFiles(t, info.Size())
	full, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("a file on a full disk is not opened: %v", err)
	}
	defer full.Close()
	read := func() (n int) {
		for record, err := range full.Log(t.Context(), key, 1, 100) {
			if err != nil || len(record.Payload) != 64<<10 {
				t.Errorf("record %s has %d bytes, %v", record.Name, len(record.Payload), err)
			}
			n++
		}
		return n
	}
	if n := read(); n != 8 {
		t.Errorf("%d records are read, want 8", n)
	}
	if err := full.Put(t.Context(), key, store.Record{Name: store.LogName(9), Payload: make([]byte, 2<<20)}); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), path) {
		t.Errorf("a write returns %v, want code unavailable with the file's name", err)
	}
	if n := read(); n != 8 {
		t.Errorf("%d records are read after the write, want 8", n)
	}

	lift()
	if err := errors.Join(full.Put(t.Context(), key, store.Record{Name: store.LogName(9), Payload: make([]byte, 64<<10)}), full.Probe(t.Context()), full.Failing()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if n := read(); n != 9 {
		t.Errorf("%d records are read with room again, want 9", n)
	}
}
