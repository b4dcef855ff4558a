//go:build clients

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The page of the starter chat passes its tests and is bundled, with the packages that
// its lock file names.
func TestThePageOfAProjectIsBuiltForClients(t *testing.T) {
	folder := makeProject(t, "-starter", "chat")
	command := exec.Command("make", "test-page", "REVEILLE_ADDR=127.0.0.1:4321")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make test-page: %v\n%s", err, out)
	}
	bundle := read(t, folder, "page", "www", "main.js")
	if len(bundle) < 100_000 || !strings.Contains(bundle, "127.0.0.1:4321") {
		t.Errorf("the bundle has %d bytes, want the packages and the host's address in it", len(bundle))
	}
}
