package storetest

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// Faulty wraps a backend. A test uses it to inject faults or to watch the
// operations. Without a hook it behaves as the backend does.
//
// Around applies to every operation. It can inject a fault before the operation (an
// error without calling do), a lost response (do, then an error), throttling, a pause,
// or the end of the process (an error from then on), and it can count or record the
// calls. Each function named On... applies to one operation: it replaces the backend's
// method, which it may call on Backend.
//
// Operations run concurrently: a hook locks the state that it shares. Set the hooks
// before other goroutines use the Faulty.
type Faulty struct {
	store.Backend // carries out the operations that no hook intercepts

	// Around replaces every operation. It carries out the operation by calling do, at
	// most once, now or later; do gets the operation's context. If Around returns an
	// error, the operation returns it and withholds its result. For Log and LogBackwards
	// it is called when the caller starts to range. There do only permits the read: the
	// caller receives the records afterwards.
	Around func(ctx context.Context, op Operation, do func(context.Context) error) error
	// OnRecord receives every record that Get, Log, LogBackwards, Records and
	// RecordsBackwards find, and returns the record that the caller receives.
	OnRecord func(op Operation, found store.Record) store.Record

	OnHead             func(ctx context.Context, key core.ThreadKey) (thread.Head, error)
	OnCommit           func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
	OnPut              func(ctx context.Context, key core.ThreadKey, record store.Record) error
	OnGet              func(ctx context.Context, key core.ThreadKey, name string) (record store.Record, ok bool, err error)
	OnLog              func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error]
	OnLogBackwards     func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error]
	OnPointer          func(ctx context.Context, tenant, name string) (value []byte, ok bool, err error)
	OnRecords          func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error)
	OnRecordsBackwards func(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error)
	OnListed           func(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error)
	OnWaiting          func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error)
	OnOverdue          func(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error)

	OnReadProfile   func(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error)
	OnWriteProfile  func(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error)
	OnDeleteProfile func(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error
	OnProfileKeys   func(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error)
	OnPutSnapshot   func(ctx context.Context, hash string, content []byte) error
	OnSnapshot      func(ctx context.Context, hash string) (content []byte, ok bool, err error)

	OnAdmission func(ctx context.Context, tenant string, day int64) (store.Admission, error)
	OnAdmit     func(ctx context.Context, tenant string, a store.Admitting) (after store.Admission, admitted bool, err error)
	OnCharge    func(ctx context.Context, tenant string, c store.Use) (after store.Admission, charged bool, err error)
	OnRelease   func(ctx context.Context, tenant string, r store.Use) (released bool, err error)
	OnOccupied  func(ctx context.Context, after string, limit int) ([]store.Occupied, error)
}

// Operation is one call of a store, as Around sees it.
type Operation struct {
	Method string         // of store.Backend, such as "Commit"
	Key    core.ThreadKey // for pointers, profiles, admissions, Listed and Waiting only the tenant; empty for Overdue, Occupied and snapshots
	// Name is the name of the record or pointer, the prefix of Records, the list of
	// Listed, or for a log the name of the record at from. For a profile it is
	// "namespace/key", for ProfileKeys "namespace/prefix", for a snapshot the hash.
	// It is empty for heads, Overdue and Waiting.
	Name    string
	Records []store.Record // what Put or Commit writes
	Head    thread.Head    // what Commit writes
}

// Writes reports whether the operation is a Put or a Commit.
func (o Operation) Writes() bool { return o.Method == "Put" || o.Method == "Commit" }

// around carries an operation out by way of the hook.
// A fault may carry the operation out later than it returns: what it reads goes into variables that
// no failed method looks at.
func (f *Faulty) around(ctx context.Context, op Operation, do func(context.Context) error) error {
	if f.Around == nil {
		return do(ctx)
	}
	return f.Around(ctx, op, do)
}

// Head implements [store.Backend].
func (f *Faulty) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	method := f.OnHead
	if method == nil {
		method = f.Backend.Head
	}
	var head thread.Head
	err := f.around(ctx, Operation{Method: "Head", Key: key}, func(ctx context.Context) (err error) {
		head, err = method(ctx, key)
		return err
	})
	if err != nil {
		return thread.Head{}, err
	}
	return head, nil
}

// Commit implements [store.Backend].
func (f *Faulty) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	method := f.OnCommit
	if method == nil {
		method = f.Backend.Commit
	}
	var outcome store.Outcome
	err := f.around(ctx, Operation{Method: "Commit", Key: key, Records: c.Records, Head: c.Head}, func(ctx context.Context) (err error) {
		outcome, err = method(ctx, key, c)
		return err
	})
	if err != nil {
		return store.Outcome{}, err
	}
	return outcome, nil
}

// Put implements [store.Backend].
func (f *Faulty) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	method := f.OnPut
	if method == nil {
		method = f.Backend.Put
	}
	op := Operation{Method: "Put", Key: key, Name: record.Name, Records: []store.Record{record}}
	return f.around(ctx, op, func(ctx context.Context) error { return method(ctx, key, record) })
}

// Get implements [store.Backend]. With an error it also returns ok = true, since the
// caller must look at nothing but the error.
func (f *Faulty) Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	method := f.OnGet
	if method == nil {
		method = f.Backend.Get
	}
	op := Operation{Method: "Get", Key: key, Name: name}
	var record store.Record
	var ok bool
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		record, ok, err = method(ctx, key, name)
		return err
	})
	if err != nil {
		return store.Record{}, true, err
	}
	if ok {
		record = f.found(op, record)
	}
	return record, ok, nil
}

// Log implements [store.Backend].
func (f *Faulty) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	method := f.OnLog
	if method == nil {
		method = f.Backend.Log
	}
	return f.log(ctx, Operation{Method: "Log", Key: key, Name: store.LogName(from)}, method(ctx, key, from, to))
}

// LogBackwards implements [store.Backend].
func (f *Faulty) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	method := f.OnLogBackwards
	if method == nil {
		method = f.Backend.LogBackwards
	}
	return f.log(ctx, Operation{Method: "LogBackwards", Key: key, Name: store.LogName(from)}, method(ctx, key, from, to))
}

func (f *Faulty) log(ctx context.Context, op Operation, records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := f.around(ctx, op, func(context.Context) error { return nil }); err != nil {
			yield(store.Record{}, err)
			return
		}
		for record, err := range records {
			if err == nil {
				record = f.found(op, record)
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// Pointer implements [store.Backend]. With an error it also returns ok = true, as Get
// does.
func (f *Faulty) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	method := f.OnPointer
	if method == nil {
		method = f.Backend.Pointer
	}
	op := Operation{Method: "Pointer", Key: core.ThreadKey{Tenant: tenant}, Name: name}
	var value []byte
	var ok bool
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		value, ok, err = method(ctx, tenant, name)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	return value, ok, nil
}

// Records implements [store.Backend].
func (f *Faulty) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	method := f.OnRecords
	if method == nil {
		method = f.Backend.Records
	}
	op := Operation{Method: "Records", Key: key, Name: prefix}
	var list []store.Record
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		list, err = method(ctx, key, prefix, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, record := range list {
		list[i] = f.found(op, record)
	}
	return list, nil
}

// RecordsBackwards implements [store.Backend].
func (f *Faulty) RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
	method := f.OnRecordsBackwards
	if method == nil {
		method = f.Backend.RecordsBackwards
	}
	op := Operation{Method: "RecordsBackwards", Key: key, Name: prefix}
	var list []store.Record
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		list, err = method(ctx, key, prefix, before, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, record := range list {
		list[i] = f.found(op, record)
	}
	return list, nil
}

// Listed implements [store.Backend].
func (f *Faulty) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
	method := f.OnListed
	if method == nil {
		method = f.Backend.Listed
	}
	op := Operation{Method: "Listed", Key: core.ThreadKey{Tenant: tenant}, Name: list}
	var all []store.Listed
	err := f.around(ctx, op, func(ctx context.Context) (err error) {
		all, err = method(ctx, tenant, list, before, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Waiting implements [store.Backend].
func (f *Faulty) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
	method := f.OnWaiting
	if method == nil {
		method = f.Backend.Waiting
	}
	var list []store.Waiting
	err := f.around(ctx, Operation{Method: "Waiting", Key: core.ThreadKey{Tenant: tenant}}, func(ctx context.Context) (err error) {
		list, err = method(ctx, tenant, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Erase implements [store.Backend].
func (f *Faulty) Erase(ctx context.Context, key core.ThreadKey, limit int) (int, error) {
	var erased int
	err := f.around(ctx, Operation{Method: "Erase", Key: key}, func(ctx context.Context) (err error) {
		erased, err = f.Backend.Erase(ctx, key, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return erased, nil
}

// Overdue implements [store.Backend].
func (f *Faulty) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
	method := f.OnOverdue
	if method == nil {
		method = f.Backend.Overdue
	}
	var due []store.Overdue
	err := f.around(ctx, Operation{Method: "Overdue"}, func(ctx context.Context) (err error) {
		due, err = method(ctx, shard, until, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return due, nil
}

func (f *Faulty) found(op Operation, record store.Record) store.Record {
	if f.OnRecord == nil {
		return record
	}
	return f.OnRecord(op, record)
}
