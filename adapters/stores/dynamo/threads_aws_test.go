//go:build aws

package dynamo_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Each thread is listed once, whatever else of it is listed, over more than a page.
func TestThreadsAreListedByTheirActivity(t *testing.T) {
	c, table := client(t)
	s := dynamo.New(c, dynamo.Options{Table: table})
	filler := string(make([]byte, 200<<10))
	for i := range 8 {
		key := core.ThreadKey{Tenant: fmt.Sprint("acme", i%2), Thread: fmt.Sprint("t", i)}
		commit := store.Commit{Head: store.Head{Version: 1}, Records: []store.Record{
			{Name: "L#", Version: 1, Payload: fmt.Appendf(nil, `{"schema":1,"list":"threads:","at":%d,"x":%q}`, 1000+i, filler)},
			{Name: "L#run", Version: 1, Payload: []byte(`{"schema":1,"list":"runs:","at":2000}`)},
		}}
		if out, err := s.Commit(t.Context(), key, commit); err != nil || !out.Written {
			t.Fatal(out, err)
		}
	}
	for since, want := range map[int64][]string{
		0:    {"acme0/t0", "acme0/t2", "acme0/t4", "acme0/t6", "acme1/t1", "acme1/t3", "acme1/t5", "acme1/t7"},
		1006: {"acme0/t6", "acme1/t7"},
		1008: nil,
	} {
		var got []string
		for key, err := range s.Threads(t.Context(), since) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("since %d: %q, want %q", since, got, want)
		}
	}
}
