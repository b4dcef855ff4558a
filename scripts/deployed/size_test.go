//go:build aws

package deployed

import "testing"

// maxZip is the largest deployment package that a function may be, in bytes.
const maxZip = 6_000_000

func TestDeploymentPackagesStaySmall(t *testing.T) {
	for _, name := range functions {
		if n := zipped(t, build(t, "functions/"+name, "")); n > maxZip {
			t.Errorf("%s: the deployment package has %d bytes, at most %d", name, n, maxZip)
		}
	}
}
