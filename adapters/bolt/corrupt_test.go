package bolt_test

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/adapters/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

func TestCorruptValuesAreNamed(t *testing.T) {
	path := newPath(t)
	edit(t, path, func(tx *bbolt.Tx) error {
		return errors.Join(
			tx.Bucket([]byte("heads")).Put([]byte("acme\x00t1"), []byte{1, 2, 3}),
			tx.Bucket([]byte("heads")).Put([]byte("acme\x00t2"), []byte{99}),
			tx.Bucket([]byte("records")).Put([]byte("acme\x00t1\x00M#000000000001"), []byte{7}),
			tx.Bucket([]byte("records")).Put([]byte("acme\x00t1\x00R#1"), nil),
			tx.Bucket([]byte("pointers")).Put([]byte("acme\x00run"), []byte{1, 0x80}),
			tx.Bucket([]byte("due")).Put([]byte("\x00short"), nil),
			tx.Bucket([]byte("due")).Put([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01nothread"), nil),
			tx.Bucket([]byte("expiry")).Put([]byte("\x00\x00\x00\x00\x00\x00\x00\x01?key"), nil),
		)
	})
	s, ctx := open(t, path, bolt.Options{}), t.Context()
	tests := []struct {
		name string
		call func() error
		text string
		code core.Code
	}{
		{"Head", func() error { _, err := s.Head(ctx, key); return err }, "read head of acme/t1: ", core.CodeCorrupt},
		{"Head of a newer program", func() error {
			_, err := s.Head(ctx, core.ThreadKey{Tenant: "acme", Thread: "t2"})
			return err
		}, "read head of acme/t2: ", core.CodeSchema},
		{"CompareAndSet", func() error {
			_, _, err := s.CompareAndSet(ctx, key, thread.Head{Version: 1})
			return err
		}, "write head of acme/t1: ", core.CodeCorrupt},
		{"Get", func() error { _, _, err := s.Get(ctx, key, "M#000000000001"); return err }, "read record M#000000000001 of acme/t1: value of 1 bytes has an unknown format", core.CodeCorrupt},
		{"Put", func() error { return s.Put(ctx, key, store.Record{Name: "R#1"}) }, "put into acme/t1: record R#1: value of 0 bytes is empty", core.CodeCorrupt},
		{"Log", func() error { _, err := store.ReadLog(ctx, s, key, 1, 1); return err }, "read records of acme/t1: record M#000000000001: ", core.CodeCorrupt},
		{"Records", func() error { _, err := s.Records(ctx, key, "R#", "", 10); return err }, "read records of acme/t1: record R#1: ", core.CodeCorrupt},
		{"Pointer", func() error { _, _, err := s.Pointer(ctx, "acme", "run"); return err }, `read pointer "run" of acme: `, core.CodeCorrupt},
		{"PutPointer", func() error { _, err := s.PutPointer(ctx, "acme", "run", nil, 0); return err }, `put pointer "run" of acme: `, core.CodeCorrupt},
		{"Overdue, short key", func() error { _, err := s.Overdue(ctx, 0, 1, 1); return err }, "due index has the key 0073686f7274", core.CodeCorrupt},
		{"Overdue, no thread", func() error { _, err := s.Overdue(ctx, 1, 1, 1); return err }, `key "nothread" names no thread`, core.CodeCorrupt},
		{"Claimed", func() error { _, err := s.Claimed(ctx); return err }, "list claimed threads: ", core.CodeCorrupt},
		{"Purge", func() error { _, err := s.Purge(ctx, 1); return err }, "purge: expiry index has the key ", core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			if core.CodeOf(err) != tt.code {
				t.Fatalf("the error is %v (code %s), want code %s", err, core.CodeOf(err), tt.code)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("the error is %q, want %q in it", err, tt.text)
			}
		})
	}
}
