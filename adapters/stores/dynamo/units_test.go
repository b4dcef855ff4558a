package dynamo

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// TestWhatIsCountedInProductionIsWhatTheMeterOfTheBudgetCounts: the same requests, by
// both. The second head moves in no index, and nothing is replaced by what is smaller.
func TestWhatIsCountedInProductionIsWhatTheMeterOfTheBudgetCounts(t *testing.T) {
	item4096 := `{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"},"p":{"B":"` + strings.Repeat("AAAA", 1356) + `"}}`
	listed := store.Record{Name: "L#", Fence: 1, Version: 1, Payload: []byte(`{"list":"threads:ann","at":5}`)}
	tests := []struct {
		name    string
		replies []reply
		do      func(ctx context.Context, s *Store) error
		want    core.Spent
	}{
		{"a record of 1025 bytes", []reply{done}, func(ctx context.Context, s *Store) error {
			return s.Put(ctx, key, store.Record{Name: "M#000000000001", Fence: 1, Payload: noise(994)})
		}, core.Spent{Write: 200}},
		{"a record of a list", []reply{done}, func(ctx context.Context, s *Store) error { return s.Put(ctx, key, listed) }, core.Spent{Write: 200}},
		{"a refused record", []reply{conflict(`{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"},"f":{"N":"9"}}`)}, func(ctx context.Context, s *Store) error {
			_ = s.Put(ctx, key, store.Record{Name: "M#000000000001", Fence: 1, Payload: noise(2000)})
			return nil
		}, core.Spent{Write: 200}},
		{"throttled tries", []reply{throttle, broken, done}, func(ctx context.Context, s *Store) error {
			return s.Put(ctx, key, store.Record{Name: "M#000000000001", Fence: 1, Payload: noise(10)})
		}, core.Spent{Write: 100}},
		{"records and a head", []reply{done, done, done}, func(ctx context.Context, s *Store) error {
			_, err := s.Commit(ctx, key, store.Commit{Records: []store.Record{
				{Name: "M#000000000001", Fence: 1, Payload: noise(10)}, {Name: "R#1", Fence: 1, Version: 1, Payload: noise(3000)}}, Head: testHead(1, 0)})
			return err
		}, core.Spent{Write: 500}},
		{"a head is read", []reply{done}, func(ctx context.Context, s *Store) error { _, err := s.Head(ctx, key); return err }, core.Spent{Read: 100}},
		{"a log is read", []reply{{body: `{"Items":[` + item4096 + `,` + item4096 + `,{"sk":{"S":"M#000000000002"}}]}`}},
			func(ctx context.Context, s *Store) error { return drain(s.Log(ctx, key, 1, 9)) }, core.Spent{Read: 300}},
		{"a list is read", []reply{{body: `{"Items":[` + item4096 + `,` + item4096 + `,{"sk":{"S":"M#000000000002"}}]}`}},
			func(ctx context.Context, s *Store) error { _, err := s.Records(ctx, key, "M#", "", 9); return err }, core.Spent{Read: 150}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, budget := metered(t, tt.replies...)
			ctx := (&store.Meter{Key: key}).In(t.Context())
			if err := tt.do(ctx, s); err != nil {
				t.Fatal(err)
			}
			got, total := store.MeterOf(ctx).Drain(), budget.Total()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			if float64(got.Write) != 100*total.Write || float64(got.Read) != 100*total.Read {
				t.Errorf("counted %+v, the budget's meter %+v", got, total)
			}
		})
	}
}

func TestItemSizes(t *testing.T) {
	for text, want := range map[string]int{"7": 2, "42": 2, "423": 3, "1764000060000": 6, "0": 1, "-42": 3} {
		if got := numberSize(text); got != want {
			t.Errorf("the number %s has %d bytes, want %d", text, got, want)
		}
	}
}
