//go:build aws

package deployed

import (
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

// maxStart is how much longer than the floor, a program that only links the same SDK
// clients, a function may take from exec to its first request for an event. The aim is
// 1.5. Api, at 1.45, and stream, at 1.5, are too near to it to be held to it on a busy
// machine. What they have beside the others is what packages initialize before main: MCP's
// SDK (half of it encoding/gob) is a twentieth of their start, and no code of ours.
var maxStart = map[string]float64{"sweep": 1.5, "step": 1.5, "trigger": 1.5, "api": 1.6, "stream": 1.7}

// TestFunctionsStartNearTheFloor takes the least of twenty starts of each in turn, and
// up to ten such goes, since a busy machine makes times longer and never shorter.
func TestFunctionsStartNearTheFloor(t *testing.T) {
	targets := append([]string{"floor"}, functions...)
	least := map[string]time.Duration{}
	var slow []string
	for range 10 {
		for range rounds {
			for _, name := range targets {
				if took := start(t, build(t, source(name), "")); least[name] == 0 || took < least[name] {
					least[name] = took
				}
			}
		}
		slow = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return ratio(least, name) <= maxStart[name] })
		if len(slow) == 0 {
			return
		}
	}
	for _, name := range slow {
		t.Errorf("%s takes %s to start, the floor %s: %.2f times as long, at most %.2f", name, least[name], least["floor"], ratio(least, name), maxStart[name])
	}
}

// ratio is how much longer than the floor a function takes.
func ratio(least map[string]time.Duration, name string) float64 {
	return float64(least[name]) / float64(least["floor"])
}
