//go:build aws

package deployed

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// maxZip is the largest deployment package that a function may be, in bytes. Stream has
// 6.86 MB: it has the page with all its views (0.05 MB more than its first version), requests
// that are made again from the log, and lists of runs that are searched. What strangers send
// is weighed, the licences of bundled code are in it, and what an agent is made of
// (core/reveille) brings the store in memory and its queue. The rules for outgoing requests,
// the reader of repeated histories, lines for requests and metrics, and quarantine have 0.09 MB.
// The generated catalog of models, citations, files of results and the further forms of
// providers have 0.24 MB. Delegates, agents in the background, messages between threads and
// streams of child runs have 0.1 MB, with their part of the page.
const maxZip = 6_900_000

func TestDeploymentPackagesStaySmall(t *testing.T) {
	for _, name := range functions {
		n := zipped(t, deployed(t, source(name)))
		t.Logf("%s: %d bytes", name, n)
		if n > maxZip {
			t.Errorf("%s: the deployment package has %d bytes, at most %d", name, n, maxZip)
		}
	}
}

// maxStart is how much longer than its floor, a program that only links the same SDK
// clients, a function may take from exec to its first request for an event.
const maxStart = 1.5

// TestFunctionsStartNearTheFloor starts each twenty times in turn, and again, up to ten
// times, until each has once started as it should beside its floor: the machine has phases
// in which one takes longer and the other does not.
func TestFunctionsStartNearTheFloor(t *testing.T) {
	slow, least := functions, map[string]float64{}
	for range 10 {
		took := starts{}
		took.measure(t, slices.Concat(floors, slow))
		slow = slices.DeleteFunc(slices.Clone(slow), func(name string) bool {
			ratio := took.ratio(name)
			t.Logf("%s takes %s to start, its floor %s: %.2f times as long", name, took.of(name), took.of(floorOf(name)), ratio)
			if least[name] == 0 || ratio < least[name] {
				least[name] = ratio
			}
			return ratio <= maxStart
		})
		if len(slow) == 0 {
			return
		}
	}
	for _, name := range slow {
		t.Errorf("%s takes %.2f times as long to start as its floor, at most %.2f", name, least[name], maxStart)
	}
}

// maxSlower is how much later than before a function may ask for its first event.
const maxSlower = time.Millisecond

// TestFunctionsStartAsBefore starts each function in turn with the one of another
// checkout of this module, which START_BEFORE names (`make starts-before BEFORE=commit`
// makes one), and compares the least times: of twenty each, and of up to a hundred while
// one seems slow.
func TestFunctionsStartAsBefore(t *testing.T) {
	before := os.Getenv("START_BEFORE")
	if before == "" {
		t.Skip("START_BEFORE names no other checkout")
	}
	was := func(name string) string { return filepath.Join(before, "functions", name) }
	took := starts{}
	for _, name := range functions {
		for range 5 {
			took.measure(t, []string{was(name), name})
			if slices.Min(took[name])-slices.Min(took[was(name)]) <= maxSlower {
				break
			}
		}
		now, then := slices.Min(took[name]), slices.Min(took[was(name)])
		t.Logf("%s starts in %s, before in %s", name, now, then)
		if now-then > maxSlower {
			t.Errorf("%s starts in %s, before in %s: at most %s later", name, now, then, maxSlower)
		}
	}
}
