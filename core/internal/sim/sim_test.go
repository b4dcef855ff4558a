package sim

import (
	"slices"
	"sync"
	"testing"
)

// simulated is what happened in the worlds that this package's tests go through, and
// what was violated there.
var simulated = sync.OnceValues(func() (total Stats, violations map[int]string) {
	violations = map[int]string{}
	for n := range worlds {
		w := New(Kind(n))
		if violation := w.Run(); violation != "" {
			violations[n] = violation
		}
		total.Add(&w.Stats)
	}
	return total, violations
})

func TestNothingIsViolatedInAnyKindOfWorld(t *testing.T) {
	total, violations := simulated()
	for n := range worlds {
		if violation := violations[n]; violation != "" {
			t.Errorf("world %d (%s): %s\n\tgo run ./scripts/verify/sim -world %d", n, KindName(n), violation, n)
		}
	}
	if total.Worlds != worlds || total.Faults < 5*worlds || total.Steps.Takeovers < worlds || total.Steps.Effects < 10*worlds {
		t.Errorf("%d worlds with %d faults, %d takeovers and %d effects are tamer than they should be",
			total.Worlds, total.Faults, total.Steps.Takeovers, total.Steps.Effects)
	}
	if total.Replays.Replayed < worlds/2 || total.Replays.Unreplayed*20 > total.Replays.Replayed {
		t.Errorf("%d runs were repeated from their records, and %d could not be", total.Replays.Replayed, total.Replays.Unreplayed)
	}
	if total.Steps.Remade < 10*worlds {
		t.Errorf("%d requests were made again from the records of their turns, want %d or more", total.Steps.Remade, 10*worlds)
	}
	if total.Steps.Old < worlds/10 {
		t.Errorf("%d old records were read, want %d or more", total.Steps.Old, worlds/10)
	}
	if want := worlds / 10; total.With.Unswept != want {
		t.Errorf("%d worlds go without a sweep, want %d", total.With.Unswept, want)
	}
	for _, complaint := range total.Tame() {
		t.Error(complaint)
	}
}

func TestTameWorldsAreTold(t *testing.T) {
	if got := new(Stats).Tame(); got != nil {
		t.Errorf("of no worlds: %q", got)
	}
	s := Stats{Worlds: 20 * Kinds, Clients: Clients{Children: 92, Deletes: 12, Delayed: 46, Retakes: 23, Events: 91}, Tickets: Tickets{Edited: 92}, Streams: Streams{Unsaid: 230}, Steps: Steps{Switches: 91, Died: 23, DiedInStreams: 5}}
	s.With.Suspension, s.With.Decision, s.With.Deny, s.With.Expired, s.With.LeftBehind = 69, 69, 46, 10, 4
	for b := range behaviours {
		s.WorldsThatDid[b] = 14
	}
	s.WorldsThatDid[DelayedInput] = 13
	want := []string{"4 of 460 worlds have an abandoned tool, want 1 % of them", "91 events in 460 worlds, want one in 5", "91 switches to another model in 460 worlds, want one in 5",
		"13 of 460 worlds have a delayed run, want 3 % of them"}
	if got := s.Tame(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatsAddSumsEveryNumber(t *testing.T) {
	all := Stats{Worlds: 1, Clients: Clients{Steers: 2}, With: With{Deny: 1}}
	other := Stats{Worlds: 1, Clients: Clients{Steers: 3, Edits: 4}, With: With{Deny: 1}}
	other.Struck[SiteHint][FaultDropped], other.Did[1], other.WorldsThatDid[1] = 5, 6, 1
	all.Add(&other)
	all.Add(&other)
	want := Stats{Worlds: 3, Clients: Clients{Steers: 8, Edits: 8}, With: With{Deny: 3}}
	want.Struck[SiteHint][FaultDropped], want.Did[1], want.WorldsThatDid[1] = 10, 12, 2
	if all != want {
		t.Errorf("%+v, want %+v", all, want)
	}
}
