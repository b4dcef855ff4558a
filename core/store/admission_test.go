package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func TestThereIsRoomUnderEachBound(t *testing.T) {
	slots := map[core.ID]store.Slot{{1}: {}, {2}: {}}
	used := store.Admission{Runs: 5, Tokens: 100, Spend: 7, Slots: slots}
	tests := []struct {
		asks store.Admitting
		want bool
	}{
		{store.Admitting{}, true},
		{store.Admitting{MaxRuns: 6}, true}, {store.Admitting{MaxRuns: 5}, false}, {store.Admitting{MaxRuns: 4}, false},
		{store.Admitting{MaxTokens: 101}, true}, {store.Admitting{MaxTokens: 100}, false},
		{store.Admitting{MaxSpend: 8}, true}, {store.Admitting{MaxSpend: 7}, false},
		{store.Admitting{MaxSlots: 3}, true}, {store.Admitting{MaxSlots: 2}, false}, {store.Admitting{MaxSlots: 1}, false},
		{store.Admitting{MaxRuns: 6, MaxTokens: 101, MaxSpend: 8, MaxSlots: 3}, true},
		{store.Admitting{MaxRuns: 6, MaxTokens: 100, MaxSpend: 8, MaxSlots: 3}, false},
	}
	for _, tt := range tests {
		if got := tt.asks.Room(used); got != tt.want {
			t.Errorf("room for %+v: %v, want %v", tt.asks, got, tt.want)
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

// What is charged adds up on its day, and to its slot; what was charged too much is taken
// off again.
func TestATallyAddsUp(t *testing.T) {
	var tally store.Tally
	slot, run := store.Slot{Thread: "t1", Since: 5, Key: "k"}, core.ID{1}
	tally.Admit(store.Admitting{Day: 7, Run: run, Slot: slot})
	tally.Admit(store.Admitting{Day: 7, Run: core.ID{2}, Slot: slot, Again: true}) // is not counted twice
	for range 2 {
		if !tally.Charge(store.Use{Day: 7, Run: run, Slot: slot, Tokens: 10, Spend: 3}) {
			t.Error("a charge is refused")
		}
	}
	tally.Charge(store.Use{Day: 8, Tokens: 1})
	slots := map[core.ID]store.Slot{{1}: {Thread: "t1", Since: 5, Key: "k", Tokens: 20, Spend: 6}, {2}: slot}
	stored := func(want string) {
		t.Helper()
		got, err := json.Marshal(tally)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	stored(`{"days":{"7":{"runs":1,"tokens":20,"spend":0.000000006},"8":{"tokens":1}},"slots":{` +
		`"01000000-0000-0000-0000-000000000000":{"thread":"t1","since":5,"key":"k","tokens":20,"spend":0.000000006},` +
		`"02000000-0000-0000-0000-000000000000":{"thread":"t1","since":5,"key":"k"}}}`)
	on := tally.On(7)
	if diff := cmp.Diff(store.Admission{Day: 7, Runs: 1, Tokens: 20, Spend: 6, Slots: slots}, on); diff != "" {
		t.Error(diff)
	}
	delete(on.Slots, run) // it shares nothing with the tally
	if !tally.Release(store.Use{Day: 7, Run: run, Slot: slots[run], Tokens: 4, Spend: 1}) {
		t.Error("the slot is not released")
	}
	if tally.Release(store.Use{Day: 7, Run: run, Slot: slots[run]}) {
		t.Error("a slot is released twice")
	}
	stored(`{"days":{"7":{"runs":1,"tokens":16,"spend":0.000000005},"8":{"tokens":1}},"slots":{` +
		`"02000000-0000-0000-0000-000000000000":{"thread":"t1","since":5,"key":"k"}}}`)
}

// A charge of nothing begins no day, and leaves those that are counted.
func TestATallyOfNothing(t *testing.T) {
	var tally store.Tally
	if !tally.Charge(store.Use{Day: 7}) || tally.Days != nil {
		t.Errorf("days %v", tally.Days)
	}
	tally.Charge(store.Use{Day: 3, Tokens: 1})
	tally.Charge(store.Use{Day: 7})
	if len(tally.Days) != 1 || tally.Days[3].Tokens != 1 {
		t.Errorf("days %+v, want one of one token", tally.Days)
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
	if len(tally.Days) != 2 || tally.Days[11].Runs != 1 || tally.Days[12].Runs != 1 {
		t.Errorf("days %+v, want 11 and 12 with a run each", tally.Days)
	}
	if admitted, changed := tally.Admit(store.Admitting{Day: 12, Run: core.ID{3}, MaxRuns: 1}); !admitted || changed {
		t.Errorf("a run that has a slot: admitted %v, changed %v; want admitted, unchanged", admitted, changed)
	}
	if admitted, changed := tally.Admit(store.Admitting{Day: 12, Run: core.ID{4}, MaxRuns: 1}); admitted || changed {
		t.Errorf("beyond a bound: admitted %v, changed %v", admitted, changed)
	}
	if tally.Charge(store.Use{Day: 12, Run: core.ID{3}, Slot: store.Slot{Thread: "t"}, Tokens: 3}) {
		t.Error("a charge to another slot counts")
	}
	if tally.Release(store.Use{Day: 12, Run: core.ID{9}, Runs: 1}) {
		t.Error("a slot that is gone is released")
	}
	slot := tally.Slots[core.ID{3}]
	if !tally.Charge(store.Use{Day: 12, Tokens: 3, Spend: 1}) { // without a slot
		t.Error("a charge without a slot is refused")
	}
	if tally.Charge(store.Use{Day: 12, Run: core.ID{9}, Slot: store.Slot{Thread: "t"}, Tokens: 3}) {
		t.Error("a charge to a slot that is gone counts")
	}
	if tally.Charge(store.Use{Day: 12, Run: core.ID{9}, Slot: store.Slot{Tokens: 1}, Tokens: 3}) {
		t.Error("a charge to no slot that anybody took counts")
	}
	if tally.Release(store.Use{Day: 12, Run: core.ID{3}, Slot: store.Slot{Thread: "t"}, Runs: 1}) {
		t.Error("another slot is released")
	}
	if !tally.Release(store.Use{Day: 12, Run: core.ID{3}, Slot: slot, Runs: 1, Tokens: 2, Spend: 1}) {
		t.Error("the slot is not released")
	}
	on := tally.On(12)
	if on.Day != 12 || on.Runs != 0 || on.Tokens != 1 || on.Spend != 0 || len(on.Slots) != 2 {
		t.Errorf("the day is %+v, want 1 token and two slots", on)
	}
}
