package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

func TestMeterTakesWhatIsNew(t *testing.T) {
	key, millis := core.ThreadKey{Tenant: "acme", Thread: "t"}, int64(0)
	ctx := store.WithMeter(context.Background(), key, func() int64 { return millis })
	m := store.MeterOf(ctx)
	if !m.Of(key) || m.Of(core.ThreadKey{Tenant: "acme", Thread: "u"}) {
		t.Error("the meter is of another thread")
	}
	take := func(what string, want thread.Spent) thread.Spent {
		t.Helper()
		got := m.Drain()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return got
	}
	m.Add(thread.Spent{Write: 200, Read: 50})
	m.Add(thread.Spent{Queue: 100})
	millis = 30
	take("all of it", thread.Spent{Handler: 30, Write: 200, Read: 50, Queue: 100})
	take("nothing", thread.Spent{})
	// A write was estimated as 300, and has cost 200: the rest is of what comes next.
	m.Owe(thread.Spent{WriteMore: 300, QueueMore: 100})
	m.Add(thread.Spent{Write: 200, Queue: 100})
	take("what was estimated", thread.Spent{})
	m.Add(thread.Spent{Write: 500})
	spent := take("what is beyond", thread.Spent{Write: 400})
	m.Return(spent)
	millis = 40
	take("what a write that came to nothing gave back", thread.Spent{Handler: 10, Write: 400})
}

func TestWithoutAMeterNothingIsCounted(t *testing.T) {
	m := store.MeterOf(context.Background())
	m.Add(thread.Spent{Write: 1})
	m.Owe(thread.Spent{WriteMore: 1})
	m.Return(thread.Spent{Write: 1})
	if m.Of(core.ThreadKey{}) || m.Drain() != (thread.Spent{}) {
		t.Error("something was counted")
	}
}
