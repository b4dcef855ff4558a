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

// In a batch that waits for a child beside people, one of them decides, and then somebody
// says something: what was decided stays decided in the replay, too.
func TestAReplayDecidesBeforeAPersonSpeaksInAMixedWait(t *testing.T) {
	replayed(t, 71068, 71069, 71114)
}

// Results are merged in their order of completion. If a call waits a second time, the replay
// does not finish the results that come after its own before it has that.
func TestAReplayFinishesResultsInTheirPlaces(t *testing.T) {
	replayed(t, 10435, 72242)
}

// A gate ends the run over a call that was decided while another one ran, which then asks.
func TestAReplayBlocksARoundBeforeACallAsks(t *testing.T) {
	replayed(t, 18508)
}

// A run takes the end of a thread back whose newest turn that is left shows a message from before
// its window: the run's first request shows it too, as its record says.
func TestARunThatBeginsAnewShowsWhatItsWindowNames(t *testing.T) {
	replayed(t, 8817)
}

// A run takes back a range that a summary covers, and its own first step makes a summary of what
// is left.
func TestARunMakesASummaryOfWhatItLeaves(t *testing.T) {
	replayed(t, 12535)
}

// replayed runs worlds and repeats their runs.
func replayed(t *testing.T, worlds ...int) {
	t.Helper()
	for _, n := range worlds {
		c := Kind(n)
		c.Replayed = true
		if violation := New(c).Run(); violation != "" {
			t.Errorf("world %d: %s", n, violation)
		}
	}
}
