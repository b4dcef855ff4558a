//go:build aws

package deployed

import "testing"

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
