//go:build !race

// One goroutine moves at a time, and each takes eight times as long under the race
// detector: sim_test.go shows it worlds of every kind.

package sim

import "testing"

func TestTheSameSeedIsTheSameWorld(t *testing.T) {
	for n := range Kinds {
		a, b := New(Kind(n)), New(Kind(n))
		a.Run()
		b.Run()
		if a.Hash() != b.Hash() || a.Stats != b.Stats {
			t.Errorf("world %d (%s) differs from itself", n, KindName(n))
		}
	}
	a, b := New(Kind(0)), New(Kind(Kinds))
	a.Run()
	b.Run()
	if a.Hash() == b.Hash() {
		t.Error("two seeds are the same world")
	}
}
