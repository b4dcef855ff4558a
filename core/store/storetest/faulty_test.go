package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var locale = state.ProfileName{Namespace: "locale", Key: "alice"}

var t1 = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// Whoever only watches changes nothing.
func TestFaultyWithoutAFaultIsItsBackend(t *testing.T) {
	storetest.Options{}.Run(t, func(*testing.T) store.Backend {
		return &storetest.Faulty{
			Backend:  memory.New(),
			Around:   func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error { return do(ctx) },
			OnRecord: func(_ storetest.Operation, r store.Record) store.Record { return r },
		}
	})
}

// calls does every operation once and returns what each came to.
func calls(ctx context.Context, b store.Backend) (errs []error) {
	note := func(err error) { errs = append(errs, err) }
	_, err := b.Commit(ctx, t1, store.Commit{
		Pointers: []store.Pointer{{Name: "p", Value: []byte("v")}},
		Records:  []store.Record{{Name: store.LogName(1), Fence: 1, Payload: []byte("one")}},
		Head:     thread.Head{Version: 1, DueAt: 1},
	})
	note(err)
	note(b.Put(ctx, t1, store.Record{Name: store.LogName(2), Fence: 1, Payload: []byte("two")}))
	_, err = b.Head(ctx, t1)
	note(err)
	_, _, err = b.Get(ctx, t1, store.LogName(1))
	note(err)
	for _, err = range b.Log(ctx, t1, 1, 2) {
		if err != nil {
			break
		}
	}
	note(err)
	for _, err = range b.LogBackwards(ctx, t1, 1, 2) {
		if err != nil {
			break
		}
	}
	note(err)
	_, _, err = b.Pointer(ctx, "acme", "p")
	note(err)
	_, err = b.Records(ctx, t1, "M#", "", 9)
	note(err)
	_, err = b.Overdue(ctx, store.Overdue{Key: t1}.Shard(), 1, nil, 9)
	note(err)
	_, err = b.Waiting(ctx, "acme", nil, 9)
	note(err)
	_, err = b.WriteProfile(ctx, "acme", locale, json.RawMessage(`1`), 0)
	note(err)
	_, err = b.ReadProfile(ctx, "acme", locale)
	note(err)
	_, err = b.ProfileKeys(ctx, "acme", "locale", "a", "", 9)
	note(err)
	note(b.DeleteProfile(ctx, "acme", locale, state.AnyRevision))
	note(b.PutSnapshot(ctx, "hash", []byte("a")))
	_, _, err = b.Snapshot(ctx, "hash")
	note(err)
	return errs
}

func TestAroundSeesEveryOperation(t *testing.T) {
	var seen []string
	f := &storetest.Faulty{Backend: memory.New(), Around: func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		seen = append(seen, fmt.Sprint(op.Method, " ", op.Key, " ", op.Name, " ", len(op.Records), " ", op.Head.Version, " ", op.Writes()))
		return do(ctx)
	}}
	for i, err := range calls(t.Context(), f) {
		if err != nil {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	want := []string{
		"Commit acme/t1  1 1 true", "Put acme/t1 M#000000000002 1 0 true", "Head acme/t1  0 0 false", "Get acme/t1 M#000000000001 0 0 false",
		"Log acme/t1 M#000000000001 0 0 false", "LogBackwards acme/t1 M#000000000001 0 0 false", "Pointer acme/ p 0 0 false",
		"Records acme/t1 M# 0 0 false", "Overdue /  0 0 false", "Waiting acme/  0 0 false",
		"WriteProfile acme/ locale/alice 0 0 false", "ReadProfile acme/ locale/alice 0 0 false", "ProfileKeys acme/ locale/a 0 0 false",
		"DeleteProfile acme/ locale/alice 0 0 false", "PutSnapshot / hash 0 0 false", "Snapshot / hash 0 0 false",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// An error before an operation keeps it from the backend, one after it does not:
// the response is lost and the write stands.
func TestAroundsErrorIsTheOperations(t *testing.T) {
	for _, lost := range []bool{false, true} {
		backend := memory.New()
		f := &storetest.Faulty{Backend: backend, Around: func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
			if lost {
				_ = do(ctx)
			}
			return store.ErrThrottled
		}}
		for i, err := range calls(t.Context(), f) {
			if !errors.Is(err, store.ErrThrottled) {
				t.Errorf("lost %v: operation %d returns %v, want ErrThrottled", lost, i, err)
			}
		}
		head, err := backend.Head(t.Context(), t1)
		if err != nil || head.Exists() != lost {
			t.Errorf("lost %v: the backend has the head %+v, %v", lost, head, err)
		}
	}
}

func TestOnRecordChangesWhatIsRead(t *testing.T) {
	f := &storetest.Faulty{Backend: memory.New(), OnRecord: func(_ storetest.Operation, r store.Record) store.Record {
		r.Payload = []byte("damaged")
		return r
	}}
	calls(t.Context(), f)
	var got []string
	record, _, _ := f.Get(t.Context(), t1, store.LogName(1))
	got = append(got, string(record.Payload))
	for record := range f.Log(t.Context(), t1, 1, 1) {
		got = append(got, string(record.Payload))
	}
	for record := range f.LogBackwards(t.Context(), t1, 1, 1) {
		got = append(got, string(record.Payload))
	}
	list, _ := f.Records(t.Context(), t1, "M#", "", 1)
	for _, record := range list {
		got = append(got, string(record.Payload))
	}
	if diff := cmp.Diff([]string{"damaged", "damaged", "damaged", "damaged"}, got); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}
