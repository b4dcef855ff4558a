//go:build aws

package deployed

import (
	"slices"
	"testing"
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
// clients, a function may take from exec to its first request for an event.
const maxStart = 1.5

// TestFunctionsStartNearTheFloor starts each twenty times in turn, and up to ten times as
// often while one seems slow, since a busy machine makes times longer.
func TestFunctionsStartNearTheFloor(t *testing.T) {
	targets, took := append([]string{"floor"}, functions...), starts{}
	var slow []string
	for range 10 {
		took.measure(t, targets)
		slow = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return took.ratio(name) <= maxStart })
		if len(slow) == 0 {
			return
		}
	}
	for _, name := range slow {
		t.Errorf("%s takes %s to start, the floor %s: %.2f times as long, at most %.2f", name, took.of(name), took.of("floor"), took.ratio(name), maxStart)
	}
}
