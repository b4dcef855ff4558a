package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// TestInspectCountsPages makes a file as long as its meta page says, and one
// byte shorter.
func TestInspectCountsPages(t *testing.T) {
	s := newStore(t)
	var used int64
	err := s.db.view("", func(tx *bbolt.Tx) error { used = tx.Size(); return nil }) // the high water mark in bytes
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]error{used: nil, used - 1: store.ErrCorrupt} {
		if err := os.Truncate(s.db.path, size); err != nil {
			t.Fatal(err)
		}
		if err := inspectPath(t, s.db.path); !errors.Is(err, want) {
			t.Errorf("inspect of %d bytes, of which %d are in use, returns %v, want %v", size, used, err, want)
		}
	}
}

// TestInspectReadsEitherMetaPage damages one meta page, which bbolt survives,
// then both.
func TestInspectReadsEitherMetaPage(t *testing.T) {
	s := newStore(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	page := int(binary.NativeEndian.Uint32(whole[pageHeader+8:]))
	for _, tt := range []struct {
		name    string
		damaged []int
		want    error
	}{
		{"first", []int{0}, nil}, {"second", []int{1}, nil}, {"both", []int{0, 1}, store.ErrCorrupt},
	} {
		content := append([]byte{}, whole...)
		for _, i := range tt.damaged {
			content[i*page+pageHeader+40] ^= 1
		}
		if err := os.WriteFile(s.db.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := inspectPath(t, s.db.path); !errors.Is(err, tt.want) {
			t.Errorf("%s meta page damaged: inspect returns %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestCheckPagesFindsWhatBboltWouldTrust changes the fields that bbolt follows
// without a look.
func TestCheckPagesFindsWhatBboltWouldTrust(t *testing.T) {
	s := newStore(t)
	for i := range uint64(200) { // until the records have branch pages
		record := store.Record{Name: store.LogName(i), Fence: 1, Payload: make([]byte, 1000)}
		if err := s.Put(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "t1"}, record); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := newestMeta(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	order := binary.NativeEndian
	first := func(flags uint16) uint64 { // page in use with these flags
		w := &walk{file: bytes.NewReader(whole), meta: m, seen: make([]bool, m.pages), open: []uint64{m.root}}
		for {
			page := w.open[0]
			w.open = w.open[1:]
			if err := w.tree(page); err != nil {
				t.Fatal(err)
			}
			if order.Uint16(whole[page*m.pageSize+8:]) == flags {
				return page * m.pageSize
			}
		}
	}
	branch, leaf, free := first(branchPage), first(leafPage), m.freeList*m.pageSize
	tests := []struct {
		name   string
		change func(b []byte)
		text   string
	}{
		{"nothing", func([]byte) {}, ""},
		{"a child is its parent", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], branch/m.pageSize) }, "is referred to twice"},
		{"a child does not exist", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], m.pages) }, "is referred to and does not exist"},
		{"a page of four billion pages", func(b []byte) { order.PutUint32(b[leaf+12:], 1<<32-1) }, "has a wrong header"},
		{"another page's number", func(b []byte) { b[leaf]++ }, "has a wrong header"},
		{"a branch without children", func(b []byte) { order.PutUint16(b[branch+10:], 0) }, "has a wrong header"},
		{"more elements than a page has place for", func(b []byte) { order.PutUint16(b[leaf+10:], 1000) }, "has a wrong header"},
		{"a key of a branch behind the page", func(b []byte) { order.PutUint32(b[branch+pageHeader+4:], 1<<31) }, "has an element behind its end"},
		{"a child that is none", func(b []byte) { order.PutUint64(b[branch+pageHeader+8:], 0) }, "is referred to and does not exist"},
		{"a key behind the page", func(b []byte) { order.PutUint32(b[leaf+pageHeader+8:], 1<<20) }, "has an element behind its end"},
		{"a free list of leaves", func(b []byte) { order.PutUint16(b[free+8:], leafPage) }, "has a wrong header"},
		{"a free list without end", func(b []byte) {
			order.PutUint16(b[free+10:], manyElements)
			order.PutUint64(b[free+pageHeader:], 1<<40)
		}, "has a wrong header"},
		{"a page in use is free", func(b []byte) { order.PutUint64(b[free+pageHeader:], branch/m.pageSize) }, "is listed as free and is not"},
	}
	for _, tt := range tests {
		changed := bytes.Clone(whole)
		tt.change(changed)
		err := checkPages(bytes.NewReader(changed), m)
		if tt.text == "" && err == nil {
			continue
		}
		if err == nil || core.CodeOf(err) != core.CodeCorrupt || !strings.HasSuffix(err.Error(), tt.text) {
			t.Errorf("%s: checkPages returns the error %v, want code corrupt and the end %q", tt.name, err, tt.text)
		}
	}
}

func inspectPath(t *testing.T, path string) error {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return inspect(file)
}

func FuzzCheckPages(f *testing.F) {
	f.Add(make([]byte, 4*smallest), uint64(2), uint64(3))
	leaf := make([]byte, 4*smallest)
	binary.NativeEndian.PutUint64(leaf[2*smallest:], 2)
	leaf[2*smallest+8] = leafPage
	leaf[2*smallest+10] = 3
	f.Add(leaf, uint64(2), uint64(noFreeList))
	f.Fuzz(func(t *testing.T, b []byte, root, freeList uint64) {
		m := &meta{pageSize: smallest, root: root, freeList: freeList, pages: uint64(len(b)) / smallest}
		if err := checkPages(bytes.NewReader(b), m); err != nil && core.CodeOf(err) != core.CodeCorrupt {
			t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
		}
	})
}
