package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

func TestMeterTakesWhatIsNew(t *testing.T) {
	key, millis := core.ThreadKey{Tenant: "acme", Thread: "t"}, int64(0)
	ctx := (&store.Meter{Key: key, Handler: func() int64 { return millis }}).In(context.Background())
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

// What was estimated or given back counts for what it was spent on, and for nothing else.
func TestAMeterKeepsItsCountsApart(t *testing.T) {
	key, millis := core.ThreadKey{Tenant: "acme", Thread: "t"}, int64(50)
	m := &store.Meter{Key: key, Handler: func() int64 { return millis }}
	drain := func(what string, want thread.Spent) {
		t.Helper()
		if diff := cmp.Diff(want, m.Drain()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	m.Add(thread.Spent{Write: 10, Read: 20, Queue: 30, WriteMore: 1, QueueMore: 2})
	m.Add(thread.Spent{Handler: 9, Write: 1, Read: 2, Queue: 3})
	drain("what was added", thread.Spent{Handler: 50, Write: 11, Read: 22, Queue: 33})
	m.Return(thread.Spent{Handler: 5, Write: 1, Read: 2, Queue: 3})
	drain("what was given back", thread.Spent{Handler: 5, Write: 1, Read: 2, Queue: 3})
	m.Owe(thread.Spent{Handler: 100, Write: 100, Read: 100, Queue: 100, WriteMore: 4})
	m.Add(thread.Spent{Write: 5, Read: 5, Queue: 5})
	drain("beyond an estimated write", thread.Spent{Write: 1, Read: 5, Queue: 5})
	m.Owe(thread.Spent{QueueMore: 4})
	m.Add(thread.Spent{Write: 5, Queue: 5})
	millis = 40 // a clock that was set back
	drain("beyond an estimated message", thread.Spent{Write: 5, Queue: 1})
	m.Add(thread.Spent{Read: -7})
	drain("less than nothing", thread.Spent{})
	m.Add(thread.Spent{Read: 8})
	millis = 51
	drain("what is beyond that", thread.Spent{Handler: 1, Read: 1})
}

// A meter that no handler has tells of none.
func TestAMeterWithoutAHandler(t *testing.T) {
	m := &store.Meter{Key: core.ThreadKey{Tenant: "acme", Thread: "t"}}
	m.Add(thread.Spent{Read: 1})
	if got := m.Drain(); got != (thread.Spent{Read: 1}) {
		t.Errorf("spent %+v", got)
	}
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
