package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// closed is a file with branch pages that was closed.
func closed(t *testing.T) []byte {
	t.Helper()
	s := newStore(t)
	for i := range uint64(200) {
		if err := s.Put(t.Context(), diskKey, store.Record{Name: store.LogName(i), Fence: 1, Payload: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func verifyContent(t *testing.T, content []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "verify.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return verify(file)
}

// TestVerifyFindsWhatBboltTrusts changes what bbolt follows without a look.
func TestVerifyFindsWhatBboltTrusts(t *testing.T) {
	WithoutDisk(t)
	whole := closed(t)
	m, err := newestMeta(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{file: bytes.NewReader(whole), pageSize: m.pageSize, seen: make([]bool, m.pages)}
	if err := w.tree(m.root, nil, nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	order := binary.NativeEndian
	first := func(flags uint16, elements uint16) uint64 { // offset of a page in use with these flags and so many elements or more
		for page, seen := range w.seen {
			at := uint64(page) * m.pageSize
			if seen && order.Uint16(whole[at+8:]) == flags && order.Uint16(whole[at+10:]) >= elements {
				return at
			}
		}
		t.Fatalf("no page has the flags %d", flags)
		return 0
	}
	branch, leaf, root := first(branchPage, 2), first(leafPage, 2), m.root*m.pageSize
	free := uint64(0)
	for page := uint64(2); page < m.pages; page++ {
		if !w.seen[page] {
			free = page
		}
	}
	entry := bytes.Index(whole[leaf:], []byte("acme\x00t1\x00M#"))
	older := 1 - m.transaction%2 // the meta page that is not in force
	tests := []struct {
		name   string
		change func(b []byte)
		text   string
	}{
		{"nothing", func([]byte) {}, ""},
		{"a child is its parent", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], branch/m.pageSize) }, "is referred to twice"},
		{"a child does not exist", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], m.pages) }, "is referred to and does not exist"},
		{"a child that is none", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], 0) }, "is referred to and does not exist"},
		{"a child that is free", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], free) }, ""},
		{"a page of four billion pages", func(b []byte) { order.PutUint32(b[leaf+12:], 1<<32-1) }, "has a wrong header"},
		{"another page's number", func(b []byte) { b[leaf]++ }, "has a wrong header"},
		{"a page of another kind", func(b []byte) { b[leaf+8] = 0x10 }, "has a wrong header"},
		{"a branch without children", func(b []byte) { order.PutUint16(b[branch+10:], 0) }, "has a wrong header"},
		{"more elements than a page has place for", func(b []byte) { order.PutUint16(b[leaf+10:], 1000) }, "has a wrong header"},
		{"one element less", func(b []byte) { b[leaf+10]-- }, "its entries are missing or outdated"},
		{"a key of a branch behind the page", func(b []byte) { order.PutUint32(b[branch+pageHeader+4:], 1<<31) }, "has an element after its end"},
		{"a key behind the page", func(b []byte) { order.PutUint32(b[leaf+pageHeader+8:], 1<<20) }, "has an element after its end"},
		{"a branch with keys out of order", func(b []byte) { order.PutUint32(b[branch+pageHeader+elementSize+4:], 1) }, "has keys out of order"},
		{"a leaf with keys out of order", func(b []byte) { order.PutUint32(b[leaf+pageHeader+elementSize+8:], 1) }, "has keys out of order"},
		{"a changed key", func(b []byte) { b[leaf+uint64(entry)] = 'b' }, "has keys out of order"},
		{"a bucket in a bucket", func(b []byte) { b[leaf+pageHeader] = bucketLeaf }, "has a bucket where none belongs, or none where one belongs"},
		{"a bucket that is none", func(b []byte) { b[root+pageHeader] = 0 }, "has a bucket where none belongs, or none where one belongs"},
		{"the first meta page", func(b []byte) { b[pageHeader+40]++ }, "meta page 0 is not valid, and the newest transaction may be lost"},
		{"the meta page not in force", func(b []byte) { b[older*m.pageSize+pageHeader+40]++ }, " is not valid, and the newest transaction may be lost"},
		{"both meta pages", func(b []byte) { b[pageHeader+40]++; b[m.pageSize+pageHeader+40]++ }, "neither of its meta pages is valid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := bytes.Clone(whole)
			tt.change(changed)
			err := verifyContent(t, changed)
			if tt.name == "nothing" {
				if err != nil {
					t.Errorf("verify returns the error %v", err)
				}
				return
			}
			if core.CodeOf(err) != core.CodeCorrupt || !strings.HasSuffix(err.Error(), tt.text) {
				t.Errorf("verify returns the error %v, want code corrupt and %q", err, tt.text)
			}
		})
	}
}

// What doc.go says about a damaged meta page: the other one is copied over it.
func TestAMetaPageIsRepairedWithTheOther(t *testing.T) {
	for damaged := range uint64(2) {
		s := newStore(t)
		for v := range uint64(2) {
			if err := writeVersion(t, s, v+1, 100); err != nil {
				t.Fatal(err)
			}
		}
		path, size := left(t, s), uint64(s.db.pageSize)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(content[damaged*size:(damaged+1)*size], content[(1-damaged)*size:])
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := version(t, path); got != 1 && got != 2 {
			t.Errorf("the repaired file has version %d, want 1 or 2", got)
		}
		s, err = Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for v := range uint64(3) {
			if _, err := s.Commit(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "t2"}, store.Commit{Head: store.Head{Version: v + 1}}); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestVerifyCountsPages makes a file as long as its meta page says, and one byte shorter.
func TestVerifyCountsPages(t *testing.T) {
	s := newStore(t)
	var used int64
	err := s.db.view(func(tx *bbolt.Tx) error { used = tx.Size(); return nil }) // the pages in use, in bytes
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]core.Code{used: "", used - 1: core.CodeCorrupt} {
		if err := verifyContent(t, content[:size]); core.CodeOf(err) != want {
			t.Errorf("verify of %d bytes, of which %d are in use, returns %v, want code %q", size, used, err, want)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(make([]byte, 4*smallestPage), uint64(2))
	leaf := make([]byte, 4*smallestPage)
	binary.NativeEndian.PutUint64(leaf[2*smallestPage:], 2)
	leaf[2*smallestPage+8] = leafPage
	leaf[2*smallestPage+10] = 3
	f.Add(leaf, uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, root uint64) {
		w := &walk{file: bytes.NewReader(b), pageSize: smallestPage, seen: make([]bool, len(b)/smallestPage)}
		if err := w.tree(root, nil, nil, nil, 0); err != nil && core.CodeOf(err) != core.CodeCorrupt {
			t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
		}
	})
}

// TestVerifyFindsAnOutdatedRoot puts back the root page of a file that was empty. It has the
// sum of the entries of that time, and leads to none that were written since.
func TestVerifyFindsAnOutdatedRoot(t *testing.T) {
	WithoutDisk(t)
	s := newStore(t)
	look := func() ([]byte, *meta) {
		t.Helper()
		content, err := os.ReadFile(s.db.path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := newestMeta(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return content, m
	}
	empty, before := look()
	now, m := empty, before
	for i := uint64(1); m.root != before.root || i == 1; i++ { // pages that are free are used again
		if i == 100 {
			t.Fatalf("no root page has been at %d again", before.root)
		}
		if err := s.Put(t.Context(), diskKey, store.Record{Name: store.LogName(i), Fence: 1, Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		now, m = look()
	}
	if err := verifyContent(t, now); err != nil {
		t.Fatalf("the file before it is damaged: %v", err)
	}
	at, end := m.root*m.pageSize, (m.root+1)*m.pageSize
	copy(now[at:end], empty[at:end])
	if err := verifyContent(t, now); core.CodeOf(err) != core.CodeCorrupt || !strings.Contains(err.Error(), "outdated") {
		t.Errorf("verify returns %v for a file with an outdated root, want code corrupt", err)
	}
}
