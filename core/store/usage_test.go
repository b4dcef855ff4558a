package store_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

func TestHoursAndNamesOfUsage(t *testing.T) {
	if a, b, c := store.HourOf(3_599_999), store.HourOf(3_600_000), store.HourOf(1_700_000_000_000); a != 0 || b != 1 || c != 472222 {
		t.Errorf("hours %d, %d and %d, want 0, 1 and 472222", a, b, c)
	}
	run := core.ID{0x01, 15: 0xff}
	tests := []struct {
		got, want     string
		usage, wasted bool
	}{
		{store.UsageName(run, 0), "U#01000000-0000-0000-0000-0000000000ff#000000", true, false},
		{store.UsageName(run, 42), "U#01000000-0000-0000-0000-0000000000ff#000042", true, false},
		{store.UsageName(run, 999_999), "U#01000000-0000-0000-0000-0000000000ff#999999", true, false},
		{store.UsageName(run, 1_000_000), "U#01000000-0000-0000-0000-0000000000ff#1000000", true, false},
		{store.WastedName(run, 7), "C#01000000-0000-0000-0000-0000000000ff#wasted#7", false, true},
		{store.WastedName(run, 8), "C#01000000-0000-0000-0000-0000000000ff#wasted#8", false, false},
		{store.WastedName(core.ID{2}, 7), "C#02000000-0000-0000-0000-000000000000#wasted#7", false, false},
		{recordname.Round(run, 7), "C#01000000-0000-0000-0000-0000000000ff#round#7", false, false},
	}
	for _, tt := range tests {
		r := store.Record{Name: tt.got}
		if tt.got != tt.want || r.IsUsage() != tt.usage || r.IsWasted(run, 7) != tt.wasted {
			t.Errorf("%s: usage %v, wasted %v; want %s, %v, %v", tt.got, r.IsUsage(), r.IsWasted(run, 7), tt.want, tt.usage, tt.wasted)
		}
	}
}

// It is asked of every record that is written.
func TestNoNameIsMadeForARecordOfAnotherKind(t *testing.T) {
	r := store.Record{Name: recordname.Round(core.ID{1}, 7)}
	if n := testing.AllocsPerRun(20, func() { r.IsWasted(core.ID{1}, 7) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestWhatIsAskedOfUsageIsChecked(t *testing.T) {
	sum := func(tenant string, mark, total int64) error {
		return store.CheckSumUsage(store.UsageMark{Tenant: tenant, Hour: mark}, store.UsageTotal{Hour: total})
	}
	admit := func(name string, hour int64) error {
		write, err := store.AdmitUsage(nil, store.Usage{Hour: hour, Record: store.Record{Name: name}})
		if write != (err == nil) {
			t.Errorf("record %s of hour %d: write %v, %v", name, hour, write, err)
		}
		return err
	}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a sum", sum("acme", 1, 1), ""},
		{"of another hour", sum("acme", 1, 2), "total of hour 2 for the mark of hour 1"},
		{"of no hour", sum("acme", 0, 0), "total of hour 0 for the mark of hour 0"},
		{"of nobody", sum("", 1, 1), "tenant is empty"},
		{"marks of all", store.CheckUsageMarks(0, ""), ""},
		{"of the last shard", store.CheckUsageMarks(15, ""), ""},
		{"of none", store.CheckUsageMarks(16, ""), "shard 16 is not in 0..15"},
		{"of one below", store.CheckUsageMarks(-1, ""), "shard -1 is not in 0..15"},
		{"of a tenant", store.CheckUsageMarks(15, "acme"), ""},
		{"of a tenant elsewhere", store.CheckUsageMarks(8, "acme"), "shard 8 is not that of tenant acme"},
		{"of no tenant", store.CheckUsageMarks(8, "a#b"), `tenant "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a record", admit("U#x", 1), ""},
		{"a record of no hour", admit("U#x", 0), `usage record "U#x" of hour 0: want a name that UsageName makes and an hour after 1970`},
		{"another record", admit("R#x", 1), `usage record "R#x" of hour 1: want a name that UsageName makes and an hour after 1970`},
		{"an erase", store.CheckErase(core.ThreadKey{Tenant: "acme", Thread: "t"}, 1), ""},
		{"an erase of nothing", store.CheckErase(core.ThreadKey{Tenant: "acme", Thread: "t"}, 0), "erase 0 records, at least 1 is allowed"},
		{"an erase of no thread", store.CheckErase(core.ThreadKey{Tenant: "acme"}, 1), "thread id is empty"},
		{"a snapshot's hash", store.CheckSnapshotHash("a"), ""},
		{"none", store.CheckSnapshotHash(""), "hash of a snapshot is empty"},
		{"a list", store.CheckList("threads:ann"), ""},
		{"nobody's list", store.CheckList("threads:"), ""},
		{"no list", store.CheckList("threads"), `list "threads" has no colon, allowed are names such as threads:ann`},
		{"a list of no kind", store.CheckList(":ann"), "kind of list is empty"},
		{"a list of no owner", store.CheckList("threads:a#b"), `owner of list threads "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a tenant's list", store.CheckListed("acme", "threads:"), ""},
		{"a list of no tenant", store.CheckListed("", "threads:"), "tenant is empty"},
	}
	for _, tt := range tests {
		got := ""
		if tt.err != nil {
			got = tt.err.Error()
			if core.CodeOf(tt.err) != core.CodeInvalid {
				t.Errorf("%s: code %q, want invalid", tt.name, core.CodeOf(tt.err))
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A tenant's marks stay where they are.
func TestShardOfUsageIsFixedForGood(t *testing.T) {
	for tenant, want := range map[string]int{"acme": 15, "a": 12, "default": 14} {
		if got := store.UsageShard(tenant); got != want {
			t.Errorf("tenant %s is in shard %d, want %d", tenant, got, want)
		}
	}
}

// Newest first; where times are equal, in the reverse order of threads, then of names.
func TestPlacesAreInTheOrderOfTimeThreadAndName(t *testing.T) {
	place := store.Place{At: 5, Thread: "t5", Name: "n5"}
	tests := []struct {
		other store.Place
		want  int
	}{
		{place, 0},
		{store.Place{At: 6, Thread: "t1", Name: "n1"}, -1}, {store.Place{At: 4, Thread: "t9", Name: "n9"}, 1},
		{store.Place{At: 5, Thread: "t6", Name: "n1"}, -1}, {store.Place{At: 5, Thread: "t4", Name: "n9"}, 1},
		{store.Place{At: 5, Thread: "t5", Name: "n6"}, -1}, {store.Place{At: 5, Thread: "t5", Name: "n4"}, 1},
	}
	for _, tt := range tests {
		if got := place.Compare(tt.other); got != tt.want {
			t.Errorf("compared with %+v: %d, want %d", tt.other, got, tt.want)
		}
	}
	if got := recordname.ChildrenList("t1"); got != "children:t1" {
		t.Errorf("the list of children is %q", got)
	}
}
