package wiretest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Fake starts the fake providers of scripts/verify/clients/models, a third-party npm
// package, on a free port, and returns their base URL. They end with the test, or with
// their input if the test is killed. folder is the path from the test's package to the
// root of the repository.
func Fake(t *testing.T, folder string) string {
	t.Helper()
	folder = filepath.Join(folder, "scripts", "verify", "clients", "models")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@copilotkit", "aimock")); err != nil {
		t.Fatalf("the fake providers are not installed, run `make test-clients`: %v", err)
	}
	node := exec.Command("node", "server.mjs", "0")
	node.Dir = folder
	node.Stderr = os.Stderr
	if _, err := node.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("`make test-clients` needs node 20: %v", err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // reports the kill
	})
	overdue := time.AfterFunc(30*time.Second, func() { _ = node.Process.Kill() }) // ends the read below
	defer overdue.Stop()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the fake providers did not start: %v", err)
	}
	return strings.TrimSpace(url)
}
