//go:build aws

package deployed

import (
	"slices"
	"testing"
	"time"
)

// maxZip is the largest deployment package that a function may be, in bytes; maxTriggers
// that of the one with triggers, whose templates keep the linker from leaving out methods
// that nobody calls.
const (
	maxZip      = 6 << 20 // Lambda counts in MiB, too
	maxTriggers = 6_500_000
)

func TestDeploymentPackagesStaySmall(t *testing.T) {
	for _, name := range functions {
		most := maxZip
		if name == "trigger" {
			most = maxTriggers
		}
		if n := zipped(t, build(t, "functions/"+name, "")); n > most {
			t.Errorf("%s: the deployment package has %d bytes, at most %d", name, n, most)
		}
	}
}

// maxStart is how much longer than the floor, a program that only links the same SDK
// clients, a function may take from exec to its first request for an event. The aim is
// 1.5, which sweep alone comes to; stream was at 1.9 when this was written.
const maxStart = 2.5

// TestFunctionsStartNearTheFloor takes the least of twenty starts of each in turn, and
// up to three such goes, since a busy machine makes times longer and never shorter.
func TestFunctionsStartNearTheFloor(t *testing.T) {
	targets := append([]string{"floor"}, functions...)
	least := map[string]time.Duration{}
	var slow []string
	for range 3 {
		for range rounds {
			for _, name := range targets {
				if took := start(t, build(t, source(name), "")); least[name] == 0 || took < least[name] {
					least[name] = took
				}
			}
		}
		slow = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return least[name] <= time.Duration(maxStart*float64(least["floor"])) })
		if len(slow) == 0 {
			return
		}
	}
	for _, name := range slow {
		t.Errorf("%s takes %s to start, the floor %s", name, least[name], least["floor"])
	}
}
