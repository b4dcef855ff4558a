//go:build !race

// One goroutine moves at a time, and each takes eight times as long under the race
// detector: sim_test.go shows it worlds of every kind.

package sim

import "testing"

func TestADayIsBilledAndLimitedAsTheProviderServedIt(t *testing.T) {
	var total Stats
	for n := range days {
		w := New(Day(n, 40))
		if violation := w.Run(); violation != "" {
			t.Errorf("day %d: %s\n\tgo run ./scripts/verify/sim -day 40 -world %d", n, violation, n)
		}
		total.Add(&w.Stats)
	}
	for _, what := range []struct {
		name       string
		got, least int // a day
	}{
		{"runs", total.Runs, 150}, {"stretches", total.Usage.Stretches, 250}, {"inferences", total.Steps.Inferences, 350},
		{"inferences that were killed", total.Usage.Killed, 25}, {"refusals", total.Usage.Refusals, 50}, {"overruns", total.Usage.Overruns, 5},
		{"takeovers", total.Steps.Takeovers, 50}, {"decisions", total.Tickets.Decisions, 50}, {"cancels", total.Clients.Cancels, 5}, {"faults", total.Faults, 150},
	} {
		if what.got < what.least*days {
			t.Errorf("%d %s in %d days, want %d in each", what.got, what.name, days, what.least)
		}
	}
}

func TestTheSameSeedIsTheSameDay(t *testing.T) {
	a, b := New(Day(7, 12)), New(Day(7, 12))
	a.Run()
	b.Run()
	if a.Hash() != b.Hash() || a.Stats != b.Stats {
		t.Errorf("day 7 differs from itself: %+v, and %+v", a.Stats, b.Stats)
	}
}
