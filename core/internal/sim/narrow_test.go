package sim

import "testing"

// Runs continue after a refusal, and processes know what they were told, and nothing else:
// see measured, checkSchooled, checkNarrow and tail.
func TestModelsThatRefuseLongRequests(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses refusing
		knows   bool
	}{
		{"with a number", refusesWith, true}, {"without one", refusesWithout, false}, {"of models that nobody knows", refusesUnknown, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var total Stats
			for seed := range uint64(4) {
				w := New(Config{Seed: seed, Threads: 2, Runs: 12, Faults: 0.005, Poison: -1, Replayed: seed == 0, People: People{Calm: true}, Agents: Agents{Refuses: tt.refuses, Pooled: seed == 1}})
				if violation := w.Run(); violation != "" {
					t.Errorf("seed %d: %s", seed, violation)
				}
				total.Add(&w.Stats)
			}
			refused, known := total.Did[RefusedLong], total.Did[KnownWindow]
			if refused < 8 || (known > 0) != tt.knows {
				t.Errorf("%d requests were refused, and %d turns made by a process that knew the window; want 8 or more, and that there are such turns is %v", refused, known, tt.knows)
			}
		})
	}
}
