package sim

import (
	"testing"
	"time"
)

// Runs that no stream follows survive an outage that is shorter than their agents' patience,
// with all kinds of faults beside it, and give up when one lasts longer: see checkGivenUp and
// checkPatience.
func TestOutagesOfAProvider(t *testing.T) {
	for _, tt := range []struct {
		lasts   time.Duration
		givesUp bool
	}{
		{10 * time.Minute, false}, {14 * time.Minute, false}, {20 * time.Minute, true},
	} {
		t.Run(tt.lasts.String(), func(t *testing.T) {
			var total Stats
			for seed := range uint64(6) {
				w := New(Config{Seed: seed, Threads: 3, Runs: 2, Faults: 0.005, Poison: -1, Agents: Agents{Outage: tt.lasts}})
				if violation := w.Run(); violation != "" {
					t.Errorf("seed %d: %s", seed, violation)
				}
				total.Add(&w.Stats)
			}
			if total.Steps.Away < 200 || (total.Steps.GivenUp > 0) != tt.givesUp {
				t.Errorf("%d calls failed in the outage, and %d runs gave up; want 200 calls or more, and that runs give up is %v", total.Steps.Away, total.Steps.GivenUp, tt.givesUp)
			}
		})
	}
}
