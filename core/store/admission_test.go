package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func TestDaysAreThoseOfUTC(t *testing.T) {
	tests := []struct{ millis, day, ends int64 }{
		{0, 0, 86_400_000}, {86_399_999, 0, 86_400_000}, {86_400_000, 1, 172_800_000}, {1_700_000_000_000, 19675, 1_700_006_400_000},
	}
	for _, tt := range tests {
		if day := store.DayOf(tt.millis); day != tt.day || store.DayEnds(day) != tt.ends {
			t.Errorf("%d is on day %d, which ends at %d; want %d, %d", tt.millis, day, store.DayEnds(day), tt.day, tt.ends)
		}
	}
}

func TestThereIsRoomUnderEachBound(t *testing.T) {
	slots := map[core.ID]store.Slot{{1}: {}, {2}: {}}
	used := store.Admission{Runs: 5, Tokens: 100, Spend: 7, Slots: slots}
	tests := []struct {
		bounds store.Bounds
		want   bool
	}{
		{store.Bounds{}, true},
		{store.Bounds{Runs: 6}, true}, {store.Bounds{Runs: 5}, false}, {store.Bounds{Runs: 4}, false},
		{store.Bounds{Tokens: 101}, true}, {store.Bounds{Tokens: 100}, false},
		{store.Bounds{Spend: 8}, true}, {store.Bounds{Spend: 7}, false},
		{store.Bounds{Slots: 3}, true}, {store.Bounds{Slots: 2}, false}, {store.Bounds{Slots: 1}, false},
		{store.Bounds{Runs: 6, Tokens: 101, Spend: 8, Slots: 3}, true},
		{store.Bounds{Runs: 6, Tokens: 100, Spend: 8, Slots: 3}, false},
	}
	for _, tt := range tests {
		if got := tt.bounds.Room(used); got != tt.want {
			t.Errorf("room under %+v: %v, want %v", tt.bounds, got, tt.want)
		}
	}
}

// What was charged since does not make another slot of it; thread, time and key do.
func TestASlotIsTheSameWhateverIsCharged(t *testing.T) {
	slot := store.Slot{Thread: "t1", Since: 5, Key: "k"}
	tests := []struct {
		name  string
		other store.Slot
		want  bool
	}{
		{"charged", store.Slot{Thread: "t1", Since: 5, Key: "k", Tokens: 9, Spend: 9}, true},
		{"another thread", store.Slot{Thread: "t2", Since: 5, Key: "k"}, false},
		{"another time", store.Slot{Thread: "t1", Since: 6, Key: "k"}, false},
		{"another key", store.Slot{Thread: "t1", Since: 5}, false},
	}
	for _, tt := range tests {
		if got := slot.Same(tt.other); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestATenantHas128Slots(t *testing.T) {
	if store.MaxSlots != 128 {
		t.Errorf("a tenant has %d slots", store.MaxSlots)
	}
}

// What is charged adds up on its day, and to its slot; what was charged too much is taken
// off again.
func TestATallyAddsUp(t *testing.T) {
	var tally store.Tally
	slot, run := store.Slot{Thread: "t1", Since: 5, Key: "k"}, core.ID{1}
	tally.Admit(store.Admitting{Day: 7, Run: run, Slot: slot})
	tally.Admit(store.Admitting{Day: 7, Run: core.ID{2}, Slot: slot, Again: true}) // is not counted twice
	for range 2 {
		if !tally.Charge(store.Charging{Day: 7, Run: run, Slot: slot, Tokens: 10, Spend: 3}) {
			t.Error("a charge is refused")
		}
	}
	tally.Charge(store.Charging{Day: 8, Tokens: 1})
	want := store.Tally{
		Days:  map[int64]store.Counted{7: {Runs: 1, Tokens: 20, Spend: 6}, 8: {Tokens: 1}},
		Slots: map[core.ID]store.Slot{{1}: {Thread: "t1", Since: 5, Key: "k", Tokens: 20, Spend: 6}, {2}: slot},
	}
	if diff := cmp.Diff(want, tally); diff != "" {
		t.Error(diff)
	}
	on := tally.On(7)
	if diff := cmp.Diff(store.Admission{Day: 7, Runs: 1, Tokens: 20, Spend: 6, Slots: want.Slots}, on); diff != "" {
		t.Error(diff)
	}
	delete(on.Slots, run) // it shares nothing with the tally
	if !tally.Release(store.Releasing{Day: 7, Run: run, Seen: want.Slots[run], Tokens: 4, Spend: 1}) {
		t.Error("the slot is not released")
	}
	if tally.Release(store.Releasing{Day: 7, Run: run, Seen: want.Slots[run]}) {
		t.Error("a slot is released twice")
	}
	want.Days[7] = store.Counted{Runs: 1, Tokens: 16, Spend: 5}
	delete(want.Slots, run)
	if diff := cmp.Diff(want, tally); diff != "" {
		t.Error(diff)
	}
}

// A charge of nothing begins no day, and leaves those that are counted.
func TestATallyOfNothing(t *testing.T) {
	var tally store.Tally
	if !tally.Charge(store.Charging{Day: 7}) || tally.Days != nil {
		t.Errorf("days %v", tally.Days)
	}
	tally.Charge(store.Charging{Day: 3, Tokens: 1})
	tally.Charge(store.Charging{Day: 7})
	if diff := cmp.Diff(map[int64]store.Counted{3: {Tokens: 1}}, tally.Days); diff != "" {
		t.Error(diff)
	}
}

// A tally forgets the days that lie two before the one that is counted.
func TestATallyKeepsTwoDays(t *testing.T) {
	var tally store.Tally
	for _, c := range []struct {
		day, run byte
	}{{10, 1}, {11, 2}, {12, 3}} {
		if admitted, changed := tally.Admit(store.Admitting{Day: int64(c.day), Run: core.ID{c.run}}); !admitted || !changed {
			t.Fatalf("run %d: admitted %v, changed %v", c.run, admitted, changed)
		}
	}
	want := map[int64]store.Counted{11: {Runs: 1}, 12: {Runs: 1}}
	if diff := cmp.Diff(want, tally.Days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if admitted, changed := tally.Admit(store.Admitting{Day: 12, Run: core.ID{3}, Bounds: store.Bounds{Runs: 1}}); !admitted || changed {
		t.Errorf("a run that has a slot: admitted %v, changed %v; want admitted, unchanged", admitted, changed)
	}
	if admitted, changed := tally.Admit(store.Admitting{Day: 12, Run: core.ID{4}, Bounds: store.Bounds{Runs: 1}}); admitted || changed {
		t.Errorf("beyond a bound: admitted %v, changed %v", admitted, changed)
	}
	if tally.Charge(store.Charging{Day: 12, Run: core.ID{3}, Slot: store.Slot{Thread: "t"}, Tokens: 3}) {
		t.Error("a charge to another slot counts")
	}
	if tally.Release(store.Releasing{Day: 12, Run: core.ID{9}, Runs: 1}) {
		t.Error("a slot that is gone is released")
	}
	slot := tally.Slots[core.ID{3}]
	if !tally.Charge(store.Charging{Day: 12, Tokens: 3, Spend: 1}) { // without a slot
		t.Error("a charge without a slot is refused")
	}
	if tally.Charge(store.Charging{Day: 12, Run: core.ID{9}, Slot: store.Slot{Thread: "t"}, Tokens: 3}) {
		t.Error("a charge to a slot that is gone counts")
	}
	if tally.Charge(store.Charging{Day: 12, Run: core.ID{9}, Slot: store.Slot{Tokens: 1}, Tokens: 3}) {
		t.Error("a charge to no slot that anybody took counts")
	}
	if tally.Release(store.Releasing{Day: 12, Run: core.ID{3}, Seen: store.Slot{Thread: "t"}, Runs: 1}) {
		t.Error("another slot is released")
	}
	if !tally.Release(store.Releasing{Day: 12, Run: core.ID{3}, Seen: slot, Runs: 1, Tokens: 2, Spend: 1}) {
		t.Error("the slot is not released")
	}
	on := tally.On(12)
	if on.Day != 12 || on.Runs != 0 || on.Tokens != 1 || on.Spend != 0 || len(on.Slots) != 2 {
		t.Errorf("the day is %+v, want 1 token and two slots", on)
	}
}
