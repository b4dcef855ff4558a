package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var admissionClauses = []clause{
	{"AdmissionIsCountedOnce", admissionIsCountedOnce},
	{"AdmissionStopsAtEachBound", admissionStopsAtEachBound},
	{"NoMoreRunsAreAdmittedThanThereIsRoomFor", noMoreRunsAreAdmittedThanThereIsRoomFor},
	{"ANewDayCountsAnewAndKeepsSlots", aNewDayCountsAnewAndKeepsSlots},
	{"ChargeAddsToDayAndSlot", chargeAddsToDayAndSlot},
	{"NoChargeIsLost", noChargeIsLost},
	{"ReleaseComparesTheSlot", releaseComparesTheSlot},
	{"OccupiedListsTenantsWithSlots", occupiedListsTenantsWithSlots},
	{"AdmissionsNeverMeet", admissionsNeverMeet},
}

// someDay is the day of 2026-11-22.
const someDay = 20779

func runNumber(n int) core.ID { return core.ID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

func slotOf(thread string) store.Slot {
	return store.Slot{Thread: thread, Since: someDay * 86_400_000, Key: "00ff"}
}

func (p *probe) admit(a store.Admitting) (store.Admission, bool) {
	p.t.Helper()
	after, ok, err := p.b.Admit(p.ctx, p.tenant, a)
	if err != nil {
		p.t.Fatalf("Admit(%+v): %v", a, err)
	}
	return after, ok
}

func (p *probe) charge(c store.Use) store.Admission {
	p.t.Helper()
	after, ok, err := p.b.Charge(p.ctx, p.tenant, c)
	if err != nil || !ok {
		p.t.Fatalf("Charge(%+v): %t, %v", c, ok, err)
	}
	return after
}

func (p *probe) release(r store.Use, want bool) {
	p.t.Helper()
	if ok, err := p.b.Release(p.ctx, p.tenant, r); err != nil || ok != want {
		p.t.Errorf("Release(%+v) returns %t, %v, want %t", r, ok, err, want)
	}
}

// wantAdmission checks the stored admission.
func (p *probe) wantAdmission(when string, want store.Admission) {
	p.t.Helper()
	got, err := p.b.Admission(p.ctx, p.tenant, want.Day)
	if err != nil {
		p.t.Fatalf("Admission: %v", err)
	}
	if len(got.Slots) == 0 {
		got.Slots = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("%s the admission must be as it was written, strongly consistent (-want +got):\n%s", when, diff)
	}
}

func admissionIsCountedOnce(p *probe) {
	p.wantAdmission("before anything", store.Admission{Day: someDay})
	a := store.Admitting{Day: someDay, Run: runNumber(1), Slot: slotOf("t1")}
	want := store.Admission{Day: someDay, Runs: 1, Slots: map[core.ID]store.Slot{a.Run: a.Slot}}
	for try := range 3 { // a call that got no answer is made again
		if after, ok := p.admit(a); !ok || !cmp.Equal(want, after) {
			p.t.Errorf("attempt %d to admit a run returns %t, %+v, want %+v", try, ok, after, want)
		}
		a.Slot.Since++ // by a later attempt, which changes nothing
		a.MaxSlots = 1
	}
	p.wantAdmission("after three attempts", want)
}

func admissionStopsAtEachBound(p *probe) {
	p.admit(store.Admitting{Day: someDay, Run: runNumber(1), Slot: slotOf("t1")})
	p.charge(store.Use{Day: someDay, Run: runNumber(1), Slot: slotOf("t1"), Tokens: 100, Spend: core.USD(1e9) / 2})
	want := store.Admission{Day: someDay, Runs: 1, Tokens: 100, Spend: core.USD(1e9) / 2, Slots: map[core.ID]store.Slot{
		runNumber(1): {Thread: "t1", Since: slotOf("").Since, Key: "00ff", Tokens: 100, Spend: core.USD(1e9) / 2},
	}}
	for name, a := range map[string]store.Admitting{
		"runs": {MaxRuns: 1}, "tokens": {MaxTokens: 100}, "spend": {MaxSpend: core.USD(1e9) / 2}, "slots": {MaxSlots: 1},
		"one of all": {MaxRuns: 2, MaxTokens: 101, MaxSpend: core.USD(1e9), MaxSlots: 1},
	} {
		a.Day, a.Run, a.Slot = someDay, runNumber(2), slotOf("t2")
		after, ok := p.admit(a)
		if ok || !cmp.Equal(want, after) {
			p.t.Errorf("limit of %s: Admit returns %t, %+v, want the record unchanged", name, ok, after)
		}
	}
	p.wantAdmission("after refusals", want)
	last := store.Admitting{
		Day: someDay, Run: runNumber(2), Slot: slotOf("t2"),
		MaxRuns: 2, MaxTokens: 101, MaxSpend: core.USD(1e9)/2 + 1, MaxSlots: 2,
	}
	if _, ok := p.admit(last); !ok {
		p.t.Errorf("Admit refuses a run that stays within %+v", last)
	}
}

func noMoreRunsAreAdmittedThanThereIsRoomFor(p *probe) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	for n := range 64 {
		wait.Go(func() {
			_, ok, err := p.b.Admit(p.ctx, p.tenant, store.Admitting{
				Day: someDay, Run: runNumber(n), Slot: slotOf("t"), MaxSlots: 10, MaxRuns: 1000,
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				p.t.Errorf("Admit: %v", err)
			}
			if ok {
				admitted++
			}
		})
	}
	wait.Wait()
	got, err := p.b.Admission(p.ctx, p.tenant, someDay)
	if err != nil || admitted != 10 || got.Runs != 10 || len(got.Slots) != 10 {
		p.t.Errorf("%d of 64 concurrent runs were admitted, %d are counted and %d have slots (%v), want 10 each", admitted, got.Runs, len(got.Slots), err)
	}
}

func aNewDayCountsAnewAndKeepsSlots(p *probe) {
	p.admit(store.Admitting{Day: someDay, Run: runNumber(1), Slot: slotOf("t1"), MaxRuns: 1})
	p.charge(store.Use{Day: someDay, Run: runNumber(1), Slot: slotOf("t1"), Tokens: 7})
	a := store.Admitting{Day: someDay, Run: runNumber(2), Slot: slotOf("t2"), MaxRuns: 1, MaxTokens: 7, MaxSlots: 5}
	if _, ok := p.admit(a); ok {
		p.t.Errorf("a second run is admitted on the same day")
	}
	a.Day++
	after, ok := p.admit(a)
	if !ok || after.Runs != 1 || after.Tokens != 0 || len(after.Slots) != 2 {
		p.t.Errorf("on the next day Admit returns %t, %+v, want 1 run, no tokens and 2 slots", ok, after)
	}
	// A process whose clock is slow still counts on its own day.
	p.charge(store.Use{Day: someDay, Run: runNumber(1), Slot: slotOf("t1"), Tokens: 3})
	slots := map[core.ID]store.Slot{runNumber(1): slotOf("t1"), runNumber(2): slotOf("t2")}
	first := slots[runNumber(1)]
	first.Tokens = 10
	slots[runNumber(1)] = first
	p.wantAdmission("of the day before", store.Admission{Day: someDay, Runs: 1, Tokens: 10, Slots: slots})
	p.wantAdmission("of the day", store.Admission{Day: someDay + 1, Runs: 1, Slots: slots})
}

func chargeAddsToDayAndSlot(p *probe) {
	run, slot := runNumber(1), slotOf("t1")
	slot.Tokens, slot.Spend = 50, 5 // of before it waited: it comes without being counted
	want := store.Admission{Day: someDay, Slots: map[core.ID]store.Slot{run: slot}}
	if after, ok := p.admit(store.Admitting{Day: someDay, Run: run, Slot: slot, Again: true}); !ok || !cmp.Equal(want, after) {
		p.t.Errorf("Admit of a run that returns after a wait gives %t, %+v, want %+v", ok, after, want)
	}
	c := store.Use{Day: someDay, Run: run, Slot: slotOf("t1"), Tokens: 20, Spend: 2}
	for range 2 {
		p.charge(c)
	}
	slot.Tokens, slot.Spend = 90, 9
	want = store.Admission{Day: someDay, Tokens: 40, Spend: 4, Slots: map[core.ID]store.Slot{run: slot}}
	p.wantAdmission("after two charges", want)
	late := c
	late.Slot.Since--
	gone := c
	gone.Run = runNumber(2)
	for _, c := range []store.Use{late, gone} {
		if after, ok, err := p.b.Charge(p.ctx, p.tenant, c); ok || err != nil || !cmp.Equal(want, after) {
			p.t.Errorf("Charge to a slot that does not exist returns %+v, %t, %v", after, ok, err)
		}
	}
	p.charge(store.Use{Day: someDay, Run: runNumber(3), Tokens: 1})
	want.Tokens++
	p.wantAdmission("after a charge without a slot", want)
}

func noChargeIsLost(p *probe) {
	for n := range 4 {
		p.admit(store.Admitting{Day: someDay, Run: runNumber(n), Slot: slotOf("t")})
	}
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			for range 4 {
				_, ok, err := p.b.Charge(p.ctx, p.tenant, store.Use{Day: someDay, Run: runNumber(n % 4), Slot: slotOf("t"), Tokens: 3, Spend: 2})
				if err != nil || !ok {
					p.t.Errorf("Charge: %t, %v", ok, err)
				}
			}
		})
	}
	wait.Wait()
	got, err := p.b.Admission(p.ctx, p.tenant, someDay)
	if err != nil || got.Tokens != 192 || got.Spend != 128 || got.Slots[runNumber(3)].Tokens != 48 || got.Slots[runNumber(3)].Spend != 32 {
		p.t.Errorf("after 64 concurrent charges: %+v, %v, want 192 tokens, 128 billionths, and a quarter of that in each slot", got, err)
	}
}

func releaseComparesTheSlot(p *probe) {
	run := runNumber(1)
	p.admit(store.Admitting{Day: someDay, Run: run, Slot: slotOf("t1")})
	seen := p.charge(store.Use{Day: someDay, Run: run, Slot: slotOf("t1"), Tokens: 30, Spend: 3}).Slots[run]
	older := seen
	older.Tokens = 20
	r := store.Use{Day: someDay, Run: run, Slot: older, Tokens: 5, Spend: 1, Runs: 1}
	p.release(r, false)
	later := seen
	later.Since++
	r.Slot = later
	p.release(r, false)
	r.Slot, r.Run = seen, runNumber(2)
	p.release(r, false)
	p.wantAdmission("after releases of other slots", store.Admission{Day: someDay, Runs: 1, Tokens: 30, Spend: 3, Slots: map[core.ID]store.Slot{run: seen}})
	r.Run = run
	p.release(r, true)
	p.release(r, false) // a second attempt finds that it is done
	p.wantAdmission("after the release", store.Admission{Day: someDay, Tokens: 25, Spend: 2})
	if after, ok := p.admit(store.Admitting{Day: someDay, Run: run, Slot: slotOf("t1"), MaxSlots: 1}); !ok || after.Slots[run].Tokens != 0 {
		p.t.Errorf("Admit of a run that has released its slot returns %t, %+v, want a new slot without tokens", ok, after)
	}
}

func occupiedListsTenantsWithSlots(p *probe) {
	mine := func() (list []store.Occupied) {
		for after := ""; ; {
			page, err := p.b.Occupied(p.ctx, after, 2)
			if err != nil {
				p.t.Fatalf("Occupied: %v", err)
			}
			if len(page) > 2 || !slices.IsSortedFunc(page, func(a, b store.Occupied) int { return strings.Compare(a.Tenant, b.Tenant) }) {
				p.t.Errorf("a page of 2 is %+v", page)
			}
			for _, o := range page {
				if strings.HasPrefix(o.Tenant, p.tenant) {
					list = append(list, o)
				}
			}
			if len(page) == 0 {
				return list
			}
			after = page[len(page)-1].Tenant
		}
	}
	want := []store.Occupied{}
	for n := range 5 {
		tenant := fmt.Sprintf("%s.%d", p.tenant, n)
		if _, _, err := p.b.Admit(p.ctx, tenant, store.Admitting{Day: someDay, Run: runNumber(n), Slot: slotOf("t")}); err != nil {
			p.t.Fatal(err)
		}
		if n == 2 {
			if _, err := p.b.Release(p.ctx, tenant, store.Use{Day: someDay, Run: runNumber(n), Slot: slotOf("t")}); err != nil {
				p.t.Fatal(err)
			}
			continue
		}
		want = append(want, store.Occupied{Tenant: tenant, Slots: map[core.ID]store.Slot{runNumber(n): slotOf("t")}})
	}
	p.eventually(func() error {
		if diff := cmp.Diff(want, mine()); diff != "" {
			return fmt.Errorf("Occupied must list the tenants that have slots (-want +got):\n%s", diff)
		}
		return nil
	})
	// A tenant that returns is listed again, and one that has released its slot is not.
	for n := range 5 {
		tenant := fmt.Sprintf("%s.%d", p.tenant, n)
		_, err := p.b.Release(p.ctx, tenant, store.Use{Day: someDay, Run: runNumber(n), Slot: slotOf("t")})
		if err == nil && n == 2 {
			_, _, err = p.b.Admit(p.ctx, tenant, store.Admitting{Day: someDay, Run: runNumber(n), Slot: slotOf("t")})
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	want = []store.Occupied{{Tenant: p.tenant + ".2", Slots: map[core.ID]store.Slot{runNumber(2): slotOf("t")}}}
	p.eventually(func() error {
		if diff := cmp.Diff(want, mine()); diff != "" {
			return fmt.Errorf("Occupied must list the tenants that have slots now (-want +got):\n%s", diff)
		}
		return nil
	})
}

func admissionsNeverMeet(p *probe) {
	p.admit(store.Admitting{Day: someDay, Run: runNumber(1), Slot: slotOf("t1")})
	for _, tenant := range []string{p.tenant + ".", p.tenant + ".1", "L"} {
		if a, err := p.b.Admission(p.ctx, tenant, someDay); err != nil || a.Runs != 0 || len(a.Slots) != 0 {
			p.t.Errorf("tenant %s has %+v, %v", tenant, a, err)
		}
	}
	for _, tenant := range []string{"", "a#b", "."} {
		_, err := p.b.Admission(p.ctx, tenant, someDay)
		_, _, admit := p.b.Admit(p.ctx, tenant, store.Admitting{Day: someDay, Run: runNumber(1)})
		_, _, charge := p.b.Charge(p.ctx, tenant, store.Use{Day: someDay, Run: runNumber(1)})
		_, release := p.b.Release(p.ctx, tenant, store.Use{Day: someDay, Run: runNumber(1)})
		for _, err := range []error{err, admit, charge, release} {
			if core.CodeOf(err) != core.CodeInvalid {
				p.t.Errorf("tenant %q: %v, want code invalid", tenant, err)
			}
		}
	}
}
