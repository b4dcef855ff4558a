package dynamo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// metered returns a store whose requests are counted and get the replies.
func metered(t *testing.T, replies ...reply) (*Store, *dynamotest.Meter) {
	t.Helper()
	m := &dynamotest.Meter{Next: &wire{t: t, replies: replies}}
	return New(testClient(t, m), Options{}), m
}

func TestMeterCountsWrites(t *testing.T) {
	ctx := context.Background()
	log := func(fence uint64, payload int) func(s *Store) error {
		return func(s *Store) error {
			return s.Put(ctx, key, store.Record{Name: "M#000000000001", Fence: fence, Payload: noise(payload)})
		}
	}
	chunk := func(payload int) func(s *Store) error {
		return func(s *Store) error {
			return s.Put(ctx, key, store.Record{Name: "E#01000000-0000-0000-0000-000000000000#1#1#000000", Payload: noise(payload), Expires: 4_102_444_800})
		}
	}
	head := func(version uint64, due int64) func(s *Store) error {
		return func(s *Store) error {
			_, err := s.Commit(ctx, key, store.Commit{Head: testHead(version, due)})
			return err
		}
	}
	waiting := func(version uint64, since int64) func(s *Store) error {
		return func(s *Store) error {
			_, err := s.Commit(ctx, key, store.Commit{Head: storetest.WaitingHead(t, version, since)})
			return err
		}
	}
	listed := func(version uint64, at int64) func(s *Store) error {
		return func(s *Store) error {
			payload := fmt.Sprintf(`{"list":"threads:ann","at":%d}`, at)
			return s.Put(ctx, key, store.Record{Name: "L#", Fence: 1, Version: version, Payload: []byte(payload)})
		}
	}
	// pk 2+9, sk 2+14, f 1+2, p 1+n: 31 bytes and the payload.
	tests := []struct {
		name    string
		replies []reply
		writes  []func(s *Store) error
		want    map[string]dynamotest.Units
	}{
		{"1024 bytes are one unit", []reply{done}, []func(*Store) error{log(1, 993)}, map[string]dynamotest.Units{"log": {Write: 1, Calls: 1}}},
		{"1025 bytes are two", []reply{done}, []func(*Store) error{log(1, 994)}, map[string]dynamotest.Units{"log": {Write: 2, Calls: 1}}},
		{"the larger of before and after counts", []reply{done, done}, []func(*Store) error{log(1, 3000), log(2, 10)}, map[string]dynamotest.Units{"log": {Write: 6, Calls: 2}}},
		{"a failed condition costs what the write would",
			[]reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"},"f":{"N":"9"}}`)},
			[]func(*Store) error{func(s *Store) error { _ = log(1, 2000)(s); return nil }}, map[string]dynamotest.Units{"log": {Write: 2, Calls: 1}}},
		{"event chunks are a kind of their own", []reply{done, done}, []func(*Store) error{chunk(900), chunk(4000)},
			map[string]dynamotest.Units{"event": {Write: 5, Calls: 2}}},
		{"so are follow marks", []reply{done}, []func(*Store) error{func(s *Store) error {
			return s.Put(ctx, key, store.Record{Name: "F#", Fence: 1, Version: 1, Payload: noise(80), Expires: 4_102_444_800})
		}}, map[string]dynamotest.Units{"mark": {Write: 1, Calls: 1}}},
		{"throttled, broken and lost tries cost nothing", []reply{throttle, broken, done}, []func(*Store) error{log(1, 10)}, map[string]dynamotest.Units{"log": {Write: 1, Calls: 1}}},

		{"a head that is not due", []reply{done, done}, []func(*Store) error{head(1, 0), head(2, 0)},
			map[string]dynamotest.Units{"head": {Write: 2, Calls: 2}}},
		{"a head that gets due, stays, moves and is done",
			[]reply{done, done, done, done, done}, []func(*Store) error{head(1, 0), head(2, 60_000), head(3, 60_000), head(4, 120_000), head(5, 0)},
			map[string]dynamotest.Units{"head": {Write: 5, Calls: 5}, "index": {Write: 4}}},
		{"a head that waits for a person, goes on waiting, and is decided",
			[]reply{done, done, done, done}, []func(*Store) error{waiting(1, 500), waiting(2, 500), waiting(3, 900), head(4, 0)},
			map[string]dynamotest.Units{"head": {Write: 4, Calls: 4}, "index": {Write: 4}}},
		{"a record that is listed, stays in its place, and moves",
			[]reply{done, done, done}, []func(*Store) error{listed(1, 5), listed(2, 5), listed(3, 6)},
			map[string]dynamotest.Units{"listing": {Write: 3 + 1 + 1 + 2, Calls: 3}}},
		{"an index write of a refused head is none", []reply{conflict(theirs)}, []func(*Store) error{head(2, 60_000)},
			map[string]dynamotest.Units{"head": {Write: 1, Calls: 1}}},
		{"the item that refused is known from then on",
			[]reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + headRival + `"},"v":{"N":"2"},"g":{"N":"7"},"d":{"N":"60000"}}`), done},
			[]func(*Store) error{head(2, 60_000), head(3, 120_000)}, map[string]dynamotest.Units{"head": {Write: 2, Calls: 2}, "index": {Write: 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := metered(t, tt.replies...)
			for _, write := range tt.writes {
				if err := write(s); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, m.Units()); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeterCountsReads(t *testing.T) {
	ctx := context.Background()
	// 4096 bytes: pk 2+9, sk 2+14, p 1+4068, in base64 without padding.
	item4096 := `{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"},"p":{"B":"` + strings.Repeat("AAAA", 1356) + `"}}`
	tests := []struct {
		name  string
		reply reply
		read  func(s *Store) error
		want  map[string]dynamotest.Units
	}{
		{"a head that is missing", done, func(s *Store) error { _, err := s.Head(ctx, key); return err },
			map[string]dynamotest.Units{"head": {Read: 1, Calls: 1}}},
		{"a record of 4096 bytes", reply{body: `{"Item":` + item4096 + `}`}, func(s *Store) error { _, _, err := s.Get(ctx, key, "M#000000000001"); return err },
			map[string]dynamotest.Units{"log": {Read: 1, Calls: 1}}},
		{"a log of 8207 bytes, strongly", reply{body: `{"Items":[` + item4096 + `,` + item4096 + `,{"sk":{"S":"M#000000000002"}}]}`},
			func(s *Store) error { return drain(s.Log(ctx, key, 1, 9)) }, map[string]dynamotest.Units{"log": {Read: 3, Calls: 1}}},
		{"a list of 8207 bytes, eventually", reply{body: `{"Items":[` + item4096 + `,` + item4096 + `,{"sk":{"S":"M#000000000002"}}]}`},
			func(s *Store) error { _, err := s.Records(ctx, key, "M#", "", 9); return err }, map[string]dynamotest.Units{"log": {Read: 1.5, Calls: 1}}},
		{"no new event chunk", reply{body: `{"Items":[]}`}, func(s *Store) error {
			_, err := s.Records(ctx, key, "E#01000000-0000-0000-0000-000000000000#1#1#", "", 9)
			return err
		}, map[string]dynamotest.Units{"event": {Read: 0.5, Calls: 1}}},
		{"a look for a follow mark", reply{body: `{"Items":[]}`}, func(s *Store) error { _, err := s.Records(ctx, key, "F#", "", 1); return err },
			map[string]dynamotest.Units{"mark": {Read: 0.5, Calls: 1}}},
		{"nothing is due", reply{body: `{"Items":[]}`}, func(s *Store) error { _, err := s.Overdue(ctx, 0, 1, nil, 9); return err },
			map[string]dynamotest.Units{"index": {Read: 0.5, Calls: 1}}},
		{"nothing is due in any shard", reply{body: `{"Items":[]}`}, func(s *Store) error { _, err := s.NothingDue(ctx); return err },
			map[string]dynamotest.Units{"index": {Read: 0.5, Calls: 1}}},
		{"a pointer", done, func(s *Store) error { _, _, err := s.Pointer(ctx, "acme", "k"); return err },
			map[string]dynamotest.Units{"pointer": {Read: 1, Calls: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := metered(t, tt.reply)
			if err := tt.read(s); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, m.Units()); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeterTotalsAndResets(t *testing.T) {
	ctx := context.Background()
	s, m := metered(t, done, done, done)
	if _, err := s.Head(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, key, store.Commit{Head: testHead(1, 60_000)}); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Total(), (dynamotest.Units{Write: 2, Read: 1, Calls: 2}); got != want {
		t.Errorf("total %+v, want %+v", got, want)
	}
	m.Reset()
	if got := m.Total(); got != (dynamotest.Units{}) {
		t.Errorf("total after Reset %+v, want zero", got)
	}
	if _, err := s.Commit(ctx, key, store.Commit{Head: testHead(2, 60_000)}); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Total(), (dynamotest.Units{Write: 1, Calls: 1}); got != want {
		t.Errorf("a head whose index entry was written before Reset costs %+v, want %+v", got, want)
	}
}

// TestMeterCountsSequentialRoundTrips: what is sent side by side is one.
func TestMeterCountsSequentialRoundTrips(t *testing.T) {
	tests := []struct {
		name string
		do   func(ctx context.Context, s *Store) error
		want int
	}{
		{"nothing", func(context.Context, *Store) error { return nil }, 0},
		{"a read", func(ctx context.Context, s *Store) error { _, err := s.Head(ctx, key); return err }, 1},
		{"pointers, records and a head", func(ctx context.Context, s *Store) error { _, err := s.Commit(ctx, key, wholeCommit()); return err }, 3},
		{"records and a head", func(ctx context.Context, s *Store) error {
			c := wholeCommit()
			c.Pointers = nil
			_, err := s.Commit(ctx, key, c)
			return err
		}, 2},
		{"a read, then a head", func(ctx context.Context, s *Store) error {
			if _, err := s.Head(ctx, key); err != nil {
				return err
			}
			_, err := s.Commit(ctx, key, store.Commit{Head: testHead(1, 0)})
			return err
		}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &dynamotest.Meter{Next: &slow{t: t, start: time.Now()}}
				s := New(testClient(t, m), Options{})
				for range 2 { // and from zero again
					m.Reset()
					if err := tt.do(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					if got := m.Rounds(); got != tt.want {
						t.Errorf("%d round trips, want %d", got, tt.want)
					}
				}
			})
		})
	}
}
