package bolt

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core/store"
)

// TestInspectCountsPages makes a file as long as its meta page says, and one
// byte shorter.
func TestInspectCountsPages(t *testing.T) {
	s := newStore(t)
	var used int64
	err := s.db.view(func(tx *bbolt.Tx) error { used = tx.Size(); return nil }) // the high water mark in bytes
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]error{used: nil, used - 1: store.ErrCorrupt} {
		if err := os.Truncate(s.db.path, size); err != nil {
			t.Fatal(err)
		}
		if err := inspect(s.db.path); !errors.Is(err, want) {
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
		if err := inspect(s.db.path); !errors.Is(err, tt.want) {
			t.Errorf("%s meta page damaged: inspect returns %v, want %v", tt.name, err, tt.want)
		}
	}
}
