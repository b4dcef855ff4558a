package store_test

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// What stands decides whether a record is written, by its kind.
func TestAdmitDecidesByKindFenceVersionAndBytes(t *testing.T) {
	record := func(name string, fence, version uint64, payload string) store.Record {
		return store.Record{Name: name, Fence: fence, Version: version, Payload: []byte(payload)}
	}
	log := func(fence uint64, payload string) store.Record { return record("M#000000000001", fence, 0, payload) }
	run := func(fence, version uint64, payload string) store.Record {
		return record("R#1", fence, version, payload)
	}
	list := func(fence, version uint64, payload string) store.Record { return record("L#", fence, version, payload) }
	const placed, elsewhere = `{"schema":1,"list":"runs:a","at":5}`, `{"schema":1,"list":"runs:b","at":6}`
	tests := []struct {
		name         string
		stored, next store.Record
		write        bool
		refused      error
	}{
		{"a log record over a lower fence", log(2, "a"), log(3, "b"), true, nil},
		{"the same under a higher fence", log(2, "a"), log(3, "a"), true, nil},
		{"the same again", log(3, "a"), log(3, "a"), false, nil},
		{"another under one fence", log(3, "a"), log(3, "b"), false, store.ErrConflict},
		{"under a lower fence", log(4, "a"), log(3, "b"), false, store.ErrFenced},
		{"the same under a lower fence", log(4, "a"), log(3, "a"), false, store.ErrFenced},
		{"a log record, whose version does not count", record("M#000000000001", 3, 9, "a"), log(3, "a"), false, nil},
		{"input again", record("Q#1#0", 0, 0, "a"), record("Q#1#0", 0, 0, "a"), false, nil},
		{"other input", record("Q#1#0", 0, 0, "a"), record("Q#1#0", 0, 0, "b"), false, store.ErrConflict},
		{"other input under a higher fence", record("Q#1#0", 1, 1, "a"), record("Q#1#0", 2, 2, "b"), false, store.ErrConflict},
		{"a run at a later version", run(3, 4, "a"), run(3, 5, "b"), true, nil},
		{"a run under a higher fence, at a lower version", run(3, 9, "a"), run(4, 5, "b"), true, nil},
		{"a run under a higher fence, at the same version", run(3, 5, "a"), run(4, 5, "b"), true, nil},
		{"a run under a lower fence, at the same version", run(4, 5, "a"), run(3, 5, "b"), false, store.ErrFenced},
		{"a run again", run(3, 5, "a"), run(3, 5, "a"), false, nil},
		{"another at the same version", run(3, 5, "a"), run(3, 5, "b"), false, store.ErrConflict},
		{"a run at a lower version", run(3, 6, "a"), run(3, 5, "a"), false, store.ErrFenced},
		{"a run under a lower fence", run(4, 1, "a"), run(3, 5, "b"), false, store.ErrFenced},
		{"a listing at a later version", list(3, 4, placed), list(3, 5, elsewhere), true, nil},
		{"a listing at the same version", list(3, 5, placed), list(3, 5, elsewhere), true, nil},
		{"a listing at a lower version", list(3, 6, placed), list(3, 5, elsewhere), false, nil},
		{"a listing under a higher fence, at a lower version", list(3, 9, placed), list(4, 5, elsewhere), true, nil},
		{"a listing under a lower fence, at a later version", list(4, 5, placed), list(3, 9, elsewhere), false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write, err := tt.next.Admit(&tt.stored)
			if write != tt.write || !errors.Is(err, tt.refused) || (err == nil) != (tt.refused == nil) {
				t.Errorf("write %v, error %v; want %v, %v", write, err, tt.write, tt.refused)
			}
			if refused, ok := errors.AsType[*store.RefusedError](err); err != nil && (!ok || refused.Name != tt.next.Name) {
				t.Errorf("the error %v does not name %s", err, tt.next.Name)
			}
			if write, err := tt.next.Admit(nil); !write || err != nil {
				t.Errorf("where nothing stands: write %v, error %v", write, err)
			}
		})
	}
	if write, err := list(1, 1, `{"schema":1}`).Admit(nil); write || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a listing without a list: write %v, error %v, want invalid", write, err)
	}
}

// A record of usage stands under the condition of a rewritable one.
func TestAdmitUsageDecidesByFenceAndVersion(t *testing.T) {
	usage := func(fence, version uint64, payload string) store.Record {
		return store.Record{Name: "U#1#000001", Fence: fence, Version: version, Payload: []byte(payload)}
	}
	tests := []struct {
		name         string
		stored, next store.Record
		write        bool
		refused      error
	}{
		{"later", usage(3, 4, "a"), usage(3, 5, "b"), true, nil},
		{"again", usage(3, 5, "a"), usage(3, 5, "a"), false, nil},
		{"another", usage(3, 5, "a"), usage(3, 5, "b"), false, store.ErrConflict},
		{"earlier", usage(3, 6, "a"), usage(3, 5, "b"), false, store.ErrFenced},
	}
	for _, tt := range tests {
		write, err := store.Usage{Hour: 1, Record: tt.next}.AdmitUsage(&tt.stored)
		if write != tt.write || !errors.Is(err, tt.refused) || (err == nil) != (tt.refused == nil) {
			t.Errorf("%s: write %v, error %v; want %v, %v", tt.name, write, err, tt.write, tt.refused)
		}
	}
	if write, err := (store.Usage{Hour: 1, Record: usage(1, 1, "a")}).AdmitUsage(nil); !write || err != nil {
		t.Errorf("where nothing stands: write %v, error %v", write, err)
	}
}
