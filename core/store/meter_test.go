package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func TestMeterTakesWhatIsNew(t *testing.T) {
	key, millis := core.ThreadKey{Tenant: "acme", Thread: "t"}, int64(0)
	ctx := (&store.Meter{Key: key, Handler: func() int64 { return millis }}).In(context.Background())
	m := store.MeterOf(ctx)
	if !m.Of(key) || m.Of(core.ThreadKey{Tenant: "acme", Thread: "u"}) {
		t.Error("the meter is of another thread")
	}
	take := func(what string, want core.Spent) core.Spent {
		t.Helper()
		got := m.Drain()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return got
	}
	m.Add(core.Spent{Write: 200, Read: 50})
	m.Add(core.Spent{Queue: 100})
	millis = 30
	take("all of it", core.Spent{Handler: 30, Write: 200, Read: 50, Queue: 100})
	take("nothing", core.Spent{})
	// A write was estimated as 300, and has cost 200: the rest is of what comes next.
	m.Owe(core.Spent{WriteMore: 300, QueueMore: 100})
	m.Add(core.Spent{Write: 200, Queue: 100})
	take("what was estimated", core.Spent{})
	m.Add(core.Spent{Write: 500})
	spent := take("what is beyond", core.Spent{Write: 400})
	m.Return(spent)
	millis = 40
	take("what a write that came to nothing gave back", core.Spent{Handler: 10, Write: 400})
}

// What was estimated or given back counts for what it was spent on, and for nothing else.
func TestAMeterKeepsItsCountsApart(t *testing.T) {
	key, millis := core.ThreadKey{Tenant: "acme", Thread: "t"}, int64(50)
	m := &store.Meter{Key: key, Handler: func() int64 { return millis }}
	drain := func(what string, want core.Spent) {
		t.Helper()
		if diff := cmp.Diff(want, m.Drain()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	m.Add(core.Spent{Write: 10, Read: 20, Queue: 30, WriteMore: 1, QueueMore: 2})
	m.Add(core.Spent{Handler: 9, Write: 1, Read: 2, Queue: 3})
	drain("what was added", core.Spent{Handler: 50, Write: 11, Read: 22, Queue: 33})
	m.Return(core.Spent{Handler: 5, Write: 1, Read: 2, Queue: 3})
	drain("what was given back", core.Spent{Handler: 5, Write: 1, Read: 2, Queue: 3})
	m.Owe(core.Spent{Handler: 100, Write: 100, Read: 100, Queue: 100, WriteMore: 4})
	m.Add(core.Spent{Write: 5, Read: 5, Queue: 5})
	drain("beyond an estimated write", core.Spent{Write: 1, Read: 5, Queue: 5})
	m.Owe(core.Spent{QueueMore: 4})
	m.Add(core.Spent{Write: 5, Queue: 5})
	millis = 40 // a clock that was set back
	drain("beyond an estimated message", core.Spent{Write: 5, Queue: 1})
	m.Add(core.Spent{Read: -7})
	drain("less than nothing", core.Spent{})
	m.Add(core.Spent{Read: 8})
	millis = 51
	drain("what is beyond that", core.Spent{Handler: 1, Read: 1})
}

// A meter that no handler has tells of none.
func TestAMeterWithoutAHandler(t *testing.T) {
	m := &store.Meter{Key: core.ThreadKey{Tenant: "acme", Thread: "t"}}
	m.Add(core.Spent{Read: 1})
	if got := m.Drain(); got != (core.Spent{Read: 1}) {
		t.Errorf("spent %+v", got)
	}
}

func TestWithoutAMeterNothingIsCounted(t *testing.T) {
	m := store.MeterOf(context.Background())
	m.Add(core.Spent{Write: 1})
	m.Owe(core.Spent{WriteMore: 1})
	m.Return(core.Spent{Write: 1})
	if m.Of(core.ThreadKey{}) || m.Drain() != (core.Spent{}) {
		t.Error("something was counted")
	}
}
