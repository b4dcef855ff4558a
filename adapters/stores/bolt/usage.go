package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Usage has a separate bucket. No tenant has a '#' in its name.
//
//	<tenant> 0 #usage<hour> 0 <name>    a record
//	<tenant> 0 #totals 0 <hour>         a total
//	#marks<shard> 0 <tenant> 0 <hour>   a mark, whose fence is its revision

// hourDigits is how many an hour has in a key.
const hourDigits = 10

func appendHour(b []byte, hour int64) []byte {
	const zeros = "0000000000"
	var room [20]byte
	digits := strconv.AppendInt(room[:0], max(hour, 0), 10)
	return append(append(b, zeros[min(len(digits), hourDigits):]...), digits...)
}

func usageHourKey(tenant string, hour int64) []byte {
	b := make([]byte, 0, len(tenant)+hourDigits+64) // a record's name follows
	return append(appendHour(append(append(append(b, tenant...), separator...), "#usage"...), hour), separator...)
}

func totalsKey(tenant string) []byte { return []byte(tenant + separator + "#totals" + separator) }

func marksKey(shard int) []byte {
	b := append(make([]byte, 0, 48), "#marks"...)
	return append(append(b, byte('a'+shard)), separator...)
}

func markKey(tenant string, hour int64) []byte {
	return appendHour(append(append(marksKey(store.UsageMark{Tenant: tenant}.Shard()), tenant...), separator...), hour)
}

// usageWrite is a usage record on its way into the file.
type usageWrite struct {
	store.Usage
	at, value, mark []byte
	// The findings of look:
	admitted bool // it must be written
	marked   bool // its hour has a mark that may stay
}

func prepareUsage(key core.ThreadKey, usage *store.Usage) (*usageWrite, error) {
	if usage == nil {
		return nil, nil
	}
	if _, err := usage.AdmitUsage(nil); err != nil {
		return nil, err
	}
	at := append(usageHourKey(key.Tenant, usage.Hour), usage.Name...)
	r := usage.Record
	return &usageWrite{Usage: *usage, at: at, value: item{r.Fence, r.Version, r.Expires, r.Payload}.encode(at), mark: markKey(key.Tenant, usage.Hour)}, nil
}

// look decides whether the record must be written; nil if there is no record. The mark of
// an hour that is not over is set once: nothing sums the hour before.
func (w *usageWrite) look(tx *bbolt.Tx, now int64) (err error) {
	if w == nil {
		return nil
	}
	old, err := readItem(tx.Bucket(usageBucket), w.at)
	if err != nil {
		return fmt.Errorf("usage record %s: %w", w.Name, err)
	}
	var stored *store.Record
	if old != nil {
		r := old.record(w.Name)
		stored = &r
	}
	w.marked = w.Hour == now/time.Hour.Milliseconds() && tx.Bucket(usageBucket).Get(w.mark) != nil
	w.admitted, err = w.Usage.AdmitUsage(stored)
	return err
}

// write stores the record, if look has admitted it, and sets the mark of its hour again.
func (w *usageWrite) write(to *writeTx) error {
	if w == nil || !w.admitted {
		return nil
	}
	if err := to.put(usageBucket, w.at, w.value); err != nil || w.marked {
		return err
	}
	next := item{fence: w.revision()}
	return to.put(usageBucket, w.mark, next.encode(w.mark))
}

// revision is that of the mark which the record sets: no other record that was ever
// written has the same, so that a sum never removes a mark that was set since.
func (w *usageWrite) revision() uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(w.Name))
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:], w.Fence)
	binary.BigEndian.PutUint64(numbers[8:], w.Version)
	_, _ = hash.Write(numbers[:])
	return hash.Sum64()
}

// UsageRecords implements [store.Backend].
func (s *Store) UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) (records []store.Record, err error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	prefix := usageHourKey(tenant, hour)
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		records = nil
		now := s.now().Unix()
		return eachItem(tx, prefix, after, func(name string, stored *item) bool {
			if len(records) >= limit {
				return false
			}
			if !stored.expired(now) {
				records = append(records, stored.record(name))
			}
			return true
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read usage of %s: %w", tenant, err)
	}
	return records, nil
}

// eachItem iterates over the items after a prefix, in order of the rest of their keys,
// starting after one of them.
func eachItem(tx *bbolt.Tx, prefix []byte, after string, do func(rest string, stored *item) bool) error {
	cursor := tx.Bucket(usageBucket).Cursor()
	for k, v := cursor.Seek(append(bytes.Clone(prefix), after...)); bytes.HasPrefix(k, prefix); k, v = cursor.Next() {
		rest := nameOf(prefix, k)
		if rest <= after {
			continue
		}
		stored, err := decodeItem(k, v)
		if err != nil {
			return fmt.Errorf("%q: %w", core.Excerpt(rest), err)
		}
		if !do(rest, &stored) {
			return nil
		}
	}
	return nil
}

// UsageMarks implements [store.Backend].
func (s *Store) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) (marks []store.UsageMark, err error) {
	if err := (store.UsageMark{Tenant: tenant}).CheckShard(shard); err != nil {
		return nil, err
	}
	prefix, behind, own := marksKey(shard), "", ""
	if tenant != "" {
		own = tenant + separator
		prefix = append(prefix, own...)
	}
	if after != nil {
		behind = strings.TrimPrefix(string(appendHour([]byte(after.Tenant+separator), after.Hour)), own)
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		marks = nil
		var bad error
		err := eachItem(tx, prefix, behind, func(rest string, stored *item) bool {
			if len(marks) >= limit {
				return false
			}
			name, hour, _ := strings.Cut(own+rest, separator)
			n, err := strconv.ParseInt(hour, 10, 64)
			if err != nil {
				bad = core.Errorf(core.CodeCorrupt, "mark of usage %q names no hour", core.Excerpt(rest))
				return false
			}
			marks = append(marks, store.UsageMark{Tenant: name, Hour: n, Revision: stored.fence})
			return true
		})
		if err == nil {
			err = bad
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list marks of usage: %w", err)
	}
	return marks, nil
}

// SumUsage implements [store.Backend].
func (s *Store) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	if err := mark.CheckSum(total); err != nil {
		return err
	}
	if size := len(total.Payload); size > s.maxPayload {
		return fmt.Errorf("%w: total of usage of %s has %d bytes, at most %d are allowed", store.ErrTooLarge, mark.Tenant, size, s.maxPayload)
	}
	at := appendHour(totalsKey(mark.Tenant), total.Hour)
	value := item{fence: total.Revision + 1, expires: total.Expires, payload: total.Payload}.encode(at)
	err := s.update(ctx, func(w *writeTx) (bool, error) {
		old, err := readItem(w.tx.Bucket(usageBucket), at)
		if err != nil {
			return false, err
		}
		stored := uint64(0)
		if old != nil {
			stored = old.fence
		}
		if stored != total.Revision {
			return false, store.ErrConflict
		}
		if err := w.put(usageBucket, at, value); err != nil {
			return true, err
		}
		k := markKey(mark.Tenant, mark.Hour)
		stands, err := readItem(w.tx.Bucket(usageBucket), k)
		if err != nil || stands == nil || stands.fence != mark.Revision {
			return true, err
		}
		return true, w.remove(usageBucket, k)
	})
	if err != nil {
		return fmt.Errorf("sum usage of %s: %w", mark.Tenant, err)
	}
	return nil
}

// UsageTotals implements [store.Backend].
func (s *Store) UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) (totals []store.UsageTotal, err error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	behind := ""
	if from > 0 {
		behind = string(appendHour(nil, from-1))
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		totals = nil
		now := s.now().Unix()
		return eachItem(tx, totalsKey(tenant), behind, func(rest string, stored *item) bool {
			hour, err := strconv.ParseInt(rest, 10, 64)
			if err != nil || hour > to || len(totals) >= limit {
				return false
			}
			if !stored.expired(now) {
				totals = append(totals, store.UsageTotal{Hour: hour, Revision: stored.fence, Payload: stored.payload, Expires: stored.expires})
			}
			return true
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read totals of usage of %s: %w", tenant, err)
	}
	return totals, nil
}
