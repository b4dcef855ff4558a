package store

import (
	"maps"

	"github.com/reveille-run/reveille/core"
)

// Admission has the counters of one tenant whose use is limited: the usage of a day's runs,
// and the runs that are queued to run or running, each in a separate slot. It is one
// record, so that admitting a run is one write that compares and counts.
type Admission struct {
	Day    int64    // the day of the counters: days since 1970, in UTC
	Runs   int64    // that were admitted
	Tokens int64    // that their turns have used
	Spend  core.USD // what these have cost, where it is counted
	Slots  map[core.ID]Slot
}

// Slot is the place of a run that is queued to run or running.
type Slot struct {
	Thread string `json:"thread"`
	Since  int64  `json:"since"` // when it was taken, unix milliseconds
	// Key names the submission that took it, so that another attempt of that finds it: as
	// [core.CheckName] allows; empty: it has no key.
	Key string `json:"key,omitempty"`
	// Tokens and Spend are the figures of the run's totals as soon as everything charged is
	// in its log. If the totals have less when the slot is released, the difference was
	// charged for turns that a crash has lost.
	Tokens int64    `json:"tokens,omitempty"`
	Spend  core.USD `json:"spend,omitempty"`
}

// Same reports whether two are one slot, with any charges.
func (s Slot) Same(o Slot) bool { return s.Thread == o.Thread && s.Since == o.Since && s.Key == o.Key }

// Admitting asks for a run to be admitted: it is counted, and has a slot. Its limits are
// those that the tenant must stay under; 0 of each: no limit.
type Admitting struct {
	Day   int64
	Run   core.ID
	Slot  Slot
	Again bool // it has been admitted before, and is not counted again

	MaxRuns   int64
	MaxTokens int64
	MaxSpend  core.USD
	MaxSlots  int
}

// Room reports whether the run may be admitted in addition to the counted ones.
func (a Admitting) Room(now Admission) bool {
	return (a.MaxRuns == 0 || now.Runs < a.MaxRuns) && (a.MaxTokens == 0 || now.Tokens < a.MaxTokens) &&
		(a.MaxSpend == 0 || now.Spend < a.MaxSpend) && (a.MaxSlots == 0 || len(now.Slots) < a.MaxSlots)
}

// Use is the usage of a run: Charge counts it, and Release deducts it if too much was
// counted.
type Use struct {
	Day int64
	Run core.ID
	// Slot is the run's. Charge ignores later charges of it; zero: the run has none.
	// Release releases it only if it is still equal to this one.
	Slot   Slot
	Runs   int64 // of Release
	Tokens int64
	Spend  core.USD
}

// Occupied is a tenant that has slots.
type Occupied struct {
	Tenant string
	Slots  map[core.ID]Slot
}

// Tally is an [Admission] with the counters of several days: what a backend stores that
// changes it under a lock. Its methods are the rules of [Backend.Admit], [Backend.Charge] and [Backend.Release].
type Tally struct {
	Days  map[int64]counted `json:"days,omitempty"`
	Slots map[core.ID]Slot  `json:"slots,omitempty"`
}

// counted are the counters of a day.
type counted struct {
	Runs   int64    `json:"runs,omitempty"`
	Tokens int64    `json:"tokens,omitempty"`
	Spend  core.USD `json:"spend,omitempty"`
}

// On returns the admission of a day, which shares nothing with the tally.
func (t *Tally) On(day int64) Admission {
	c := t.Days[day]
	return Admission{Day: day, Runs: c.Runs, Tokens: c.Tokens, Spend: c.Spend, Slots: maps.Clone(t.Slots)}
}

// Admit is [Backend.Admit]; changed reports that the tally is to be stored.
func (t *Tally) Admit(a Admitting) (admitted, changed bool) {
	if _, ok := t.Slots[a.Run]; ok {
		return true, false
	}
	if !a.Room(t.On(a.Day)) {
		return false, false
	}
	if !a.Again {
		t.count(a.Day, counted{Runs: 1})
	}
	if t.Slots == nil {
		t.Slots = map[core.ID]Slot{}
	}
	t.Slots[a.Run] = a.Slot
	return true, true
}

// Charge is [Backend.Charge].
func (t *Tally) Charge(c Use) (charged bool) {
	if c.Slot != (Slot{}) {
		slot, ok := t.Slots[c.Run]
		if !ok || !slot.Same(c.Slot) {
			return false
		}
		slot.Tokens, slot.Spend = slot.Tokens+c.Tokens, slot.Spend+c.Spend
		t.Slots[c.Run] = slot
	}
	t.count(c.Day, counted{Tokens: c.Tokens, Spend: c.Spend})
	return true
}

// Release is [Backend.Release].
func (t *Tally) Release(r Use) (released bool) {
	if slot, ok := t.Slots[r.Run]; !ok || slot != r.Slot {
		return false
	}
	delete(t.Slots, r.Run)
	t.count(r.Day, counted{Runs: -r.Runs, Tokens: -r.Tokens, Spend: -r.Spend})
	return true
}

// count adds to a day, and forgets those that lie two days before it.
func (t *Tally) count(day int64, more counted) {
	if more == (counted{}) {
		return
	}
	if t.Days == nil {
		t.Days = map[int64]counted{}
	}
	c := t.Days[day]
	t.Days[day] = counted{c.Runs + more.Runs, c.Tokens + more.Tokens, c.Spend + more.Spend}
	maps.DeleteFunc(t.Days, func(d int64, _ counted) bool { return d < day-1 })
}
