package sim_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/sim"
)

func TestAWorldHasOneHashHoweverItIsRun(t *testing.T) {
	var told, hashes, ran strings.Builder
	w := sim.Worlds{First: 7, Count: 2}
	if n := w.Trace(&told, 7); n != 0 {
		t.Fatal(told.String())
	}
	w.Hashes(&hashes)
	hash := regexp.MustCompile("world 7, hash ([0-9a-f]{16}): no violation\n$").FindStringSubmatch(told.String())
	if hash == nil || !strings.HasPrefix(hashes.String(), "world 7: "+hash[1]+"\nworld 8: ") {
		t.Errorf("told %q, hashes %q", told.String()[max(0, told.Len()-100):], hashes.String())
	}
	if n := w.Run(&ran); n != 0 || !strings.Contains(ran.String(), "\nworlds=2 ") {
		t.Errorf("%d violations\n%s", n, ran.String())
	}
}
