//go:build killpoints

package local

import "testing"

// TestHowOftenARoundKills holds `make kill` to what it says: how many times a round of
// these tests kills the host, and at how many places of a run's way.
func TestHowOftenARoundKills(t *testing.T) {
	kills, places := 0, map[string]bool{}
	at := func(scenario, point string, count, times int) {
		for _, side := range []string{"before", "after"} {
			kills += times
			places[scenario+" "+point+" "+side+" "+string(rune('0'+count))] = true
		}
	}
	for _, p := range passed {
		for count := 1; count <= p.times; count++ {
			at("a round of tools", string(p.point), count, 1)
		}
	}
	for _, point := range recovering {
		at("a recovery", string(point), 1, 2) // the second kill is in the recovery of the first
	}
	for mode, all := range waits {
		for _, k := range all {
			at(mode, string(k.point), k.count, 1)
		}
	}
	for _, k := range naps {
		at("a call that waits for a time", k.point, k.count, 1)
	}
	for _, k := range rewakes {
		at("a wake-up", k.point, 1, 2) // the first kill is while the call waits
	}
	for _, next := range []string{"before its time", "after it"} {
		kills++
		places["while a call waits, the next host starts "+next] = true
	}
	for _, k := range supervised {
		for count := k.first; count <= k.last; count++ {
			at("a call that waits for a child run", k.point, count, 1)
		}
	}
	kills++
	places["while a call waits for a child run that waits"] = true
	if kills != 285 || len(places) != 259 {
		t.Errorf("a round kills the host %d times at %d places, want 285 at 259", kills, len(places))
	}
}
