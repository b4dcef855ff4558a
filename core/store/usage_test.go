package store_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

func TestNamesOfUsage(t *testing.T) {
	run := core.ID{0x01, 15: 0xff}
	tests := []struct {
		got, want     string
		usage, wasted bool
	}{
		{recordname.Usage(run, 0), "U#01000000-0000-0000-0000-0000000000ff#000000", true, false},
		{recordname.Usage(run, 42), "U#01000000-0000-0000-0000-0000000000ff#000042", true, false},
		{recordname.Usage(run, 999_999), "U#01000000-0000-0000-0000-0000000000ff#999999", true, false},
		{recordname.Usage(run, 1_000_000), "U#01000000-0000-0000-0000-0000000000ff#1000000", true, false},
		{recordname.Wasted(run, 7), "C#01000000-0000-0000-0000-0000000000ff#wasted#7", false, true},
		{recordname.Wasted(run, 8), "C#01000000-0000-0000-0000-0000000000ff#wasted#8", false, false},
		{recordname.Wasted(core.ID{2}, 7), "C#02000000-0000-0000-0000-000000000000#wasted#7", false, false},
		{recordname.Round(run, 7), "C#01000000-0000-0000-0000-0000000000ff#round#7", false, false},
	}
	for _, tt := range tests {
		r := store.Record{Name: tt.got}
		if tt.got != tt.want || r.IsUsage() != tt.usage || recordname.IsWasted(tt.got, run, 7) != tt.wasted {
			t.Errorf("%s: usage %v, wasted %v; want %s, %v, %v", tt.got, r.IsUsage(), recordname.IsWasted(tt.got, run, 7), tt.want, tt.usage, tt.wasted)
		}
	}
}

// It is asked of every record that is written.
func TestNoNameIsMadeForARecordOfAnotherKind(t *testing.T) {
	name := recordname.Round(core.ID{1}, 7)
	if n := testing.AllocsPerRun(20, func() { recordname.IsWasted(name, core.ID{1}, 7) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestWhatIsAskedOfUsageIsChecked(t *testing.T) {
	sum := func(tenant string, mark, total int64) error {
		return store.UsageMark{Tenant: tenant, Hour: mark}.CheckSum(store.UsageTotal{Hour: total})
	}
	admit := func(name string, hour int64) error {
		write, err := store.Usage{Hour: hour, Record: store.Record{Name: name}}.AdmitUsage(nil)
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
		{"marks of all", store.UsageMark{Tenant: ""}.CheckShard(0), ""},
		{"of the last shard", store.UsageMark{Tenant: ""}.CheckShard(15), ""},
		{"of none", store.UsageMark{Tenant: ""}.CheckShard(16), "shard 16 is not in 0..15"},
		{"of one below", store.UsageMark{Tenant: ""}.CheckShard(-1), "shard -1 is not in 0..15"},
		{"of a tenant", store.UsageMark{Tenant: "acme"}.CheckShard(15), ""},
		{"of a tenant elsewhere", store.UsageMark{Tenant: "acme"}.CheckShard(8), "shard 8 is not that of tenant acme"},
		{"of no tenant", store.UsageMark{Tenant: "a#b"}.CheckShard(8), `tenant "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a record", admit("U#x", 1), ""},
		{"a record of no hour", admit("U#x", 0), `usage record "U#x" of hour 0: want a name of a usage record and an hour after 1970`},
		{"another record", admit("R#x", 1), `usage record "R#x" of hour 1: want a name of a usage record and an hour after 1970`},
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
		if got := (store.UsageMark{Tenant: tenant}).Shard(); got != want {
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
