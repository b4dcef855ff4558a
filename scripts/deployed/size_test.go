//go:build aws

package deployed

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// maxZip is the largest deployment package that a function may be, in bytes.
const maxZip = 6_000_000

func TestDeploymentPackagesStaySmall(t *testing.T) {
	for _, name := range functions {
		if n := zipped(t, deployed(t, source(name))); n > maxZip {
			t.Errorf("%s: the deployment package has %d bytes, at most %d", name, n, maxZip)
		}
	}
}

// maxStart is how much longer than its floor, a program that only links the same SDK
// clients, a function may take from exec to its first request for an event. Stream alone
// has both the protocols, one of them by its own SDK, and the providers.
func maxStart(function string) float64 {
	if function == "stream" {
		return 1.6
	}
	return 1.5
}

// TestFunctionsStartNearTheFloor starts each twenty times in turn, and up to ten times as
// often while one seems slow, since a busy machine makes times longer.
func TestFunctionsStartNearTheFloor(t *testing.T) {
	targets, took := slices.Concat(floors, functions), starts{}
	var slow []string
	for range 10 {
		took.measure(t, targets)
		slow = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return took.ratio(name) <= maxStart(name) })
		if len(slow) == 0 {
			return
		}
	}
	for _, name := range slow {
		t.Errorf("%s takes %s to start, the floor %s: %.2f times as long, at most %.2f", name, took.of(name), took.of(floorOf(name)), took.ratio(name), maxStart(name))
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
