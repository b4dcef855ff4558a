package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

func threadNames(page host.Page[host.Thread]) (names []string) {
	for _, t := range page.Items {
		names = append(names, t.ID)
	}
	return names
}

// A page looks at 1,000 threads at most: a search that finds little says where it stopped.
func TestASearchStopsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		for i := range 1010 {
			if _, err := process.CreateThread(t.Context(), local, host.NewThread{ID: fmt.Sprintf("t%04d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		q := host.ThreadQuery{Text: "t000"} // ten, of which all are among the oldest: names of the same time are listed backwards
		page, err := process.Threads(t.Context(), local, q)
		if err != nil || len(page.Items) != 0 || page.Next == "" {
			t.Fatalf("the first page has %q and goes on at %q, %v", threadNames(page), page.Next, err)
		}
		q.After = page.Next
		page, err = process.Threads(t.Context(), local, q)
		if diff := cmp.Diff([]string{"t0009", "t0008", "t0007", "t0006", "t0005", "t0004", "t0003", "t0002", "t0001", "t0000"}, threadNames(page)); diff != "" || err != nil || page.Next != "" {
			t.Errorf("%v, goes on at %q (-want +got):\n%s", err, page.Next, diff)
		}
	})
}

// An index that lags has a thread where it was, and where it is: it is shown once.
func TestAThreadIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		faulty := &storetest.Faulty{Backend: r.store}
		process := r.process("w", faulty)
		for _, id := range []string{"t1", "t2"} {
			if _, err := process.CreateThread(t.Context(), local, host.NewThread{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		faulty.OnListed = func(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
			all, err := r.store.Listed(ctx, tenant, list, before, limit)
			if len(all) > 0 {
				old := all[0]
				old.At -= 1000
				all = append(all, old)
			}
			return all, err
		}
		page, err := process.Threads(t.Context(), local, host.ThreadQuery{})
		if diff := cmp.Diff([]string{"t2", "t1"}, threadNames(page)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// A listing that only a newer program reads, or none does, leaves the thread where it
// stands; a thread whose head cannot be read is left out, and the others are not.
func TestAListSurvivesWhatItCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		for _, id := range []string{"t1", "t2"} {
			if _, err := process.CreateThread(t.Context(), local, host.NewThread{ID: id, Title: "T"}); err != nil {
				t.Fatal(err)
			}
		}
		put := func(thread, name, payload string) {
			if err := r.store.Put(t.Context(), core.ThreadKey{Tenant: local.Tenant, Thread: thread}, store.Record{Name: name, Fence: 9, Version: 9, Payload: []byte(payload)}); err != nil {
				t.Fatal(err)
			}
		}
		put("t1", recordname.Activity, `{"schema":99,"list":"threads:`+local.User+`","at":5,"agent_id":7}`)
		put("t2", recordname.About, `{"schema":1,"title":7}`)
		page, err := process.Threads(t.Context(), local, host.ThreadQuery{})
		if diff := cmp.Diff([]string{"t1"}, threadNames(page)); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if got := page.Items[0]; got.Activity != 5 || got.Title != "T" || got.AgentID != "" {
			t.Errorf("t1 is %+v", got)
		}
	})
}
