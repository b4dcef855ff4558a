//go:build clients

package local

import (
	"flag"
	"path/filepath"
	"testing"
)

var bundleBefore = flag.String("before", "", "the folder of another bundle of the page, with which TestPageSpeed compares it")

// TestPageSpeed prints how fast the page opens a run of 10,000 events and a thread of 100
// runs, beside another bundle of it. `make page-speed` runs it; the machine must be idle.
func TestPageSpeed(t *testing.T) {
	if *bundleBefore == "" {
		t.Skip("make page-speed runs it")
	}
	now, err := filepath.Abs("../../../adapters/protocols/page/dist")
	if err != nil {
		t.Fatal(err)
	}
	browse(t, "speed.mjs", serveHost(t, filepath.Join(t.TempDir(), "data.db")), *bundleBefore, now)
}
