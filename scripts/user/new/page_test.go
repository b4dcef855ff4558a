//go:build clients

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The page of the starter chat passes its tests and is bundled, with the packages that
// its lock file names.
func TestThePageOfAProjectIsBuiltForClients(t *testing.T) {
	folder := makeProject(t, "-starter", "chat")
	command := exec.Command("make", "test-page")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make test-page: %v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(folder, "page", "www", "main.js")); err != nil || info.Size() < 100_000 {
		t.Errorf("the bundle is %v, %v", info, err)
	}
}
