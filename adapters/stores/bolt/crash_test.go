package bolt_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/store"
)

// crashVariable holds the file that a child process of this test writes to.
const crashVariable = "BOLT_CRASH_FILE"

// TestKilledProcessLosesNothingThatReturned kills a writer in full flight and
// opens its file.
func TestKilledProcessLosesNothingThatReturned(t *testing.T) {
	if path := os.Getenv(crashVariable); path != "" {
		writeUntilKilled(t, path)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	command := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), crashVariable+"="+path)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := uint64(0)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if acknowledged, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			t.Errorf("the child says %q", lines.Text())
		}
		if err != nil || acknowledged == 100 {
			_ = command.Process.Kill() // what it wrote before that still comes
		}
	}
	_ = command.Wait() // killed

	s := open(t, path, bolt.Options{}) // the lock died with its holder
	head, err := s.Head(t.Context(), key)
	if err != nil || acknowledged < 100 || head.Version < acknowledged {
		t.Fatalf("after the crash the head has version %d, %v, want at least %d, the last one acknowledged", head.Version, err, acknowledged)
	}
	log := uint64(0)
	for record, err := range s.Log(t.Context(), key, 1, head.Seq) {
		log++
		if err != nil || record.Name != store.LogName(log) {
			t.Fatalf("the log has %s, %v where %d belongs", record.Name, err, log)
		}
	}
	if log != head.Seq {
		t.Errorf("the log ends at %d, the head says %d", log, head.Seq)
	}
}

func writeUntilKilled(t *testing.T, path string) {
	s := open(t, path, bolt.Options{})
	for version := uint64(1); ; version++ {
		record := store.Record{Name: store.LogName(version), Fence: 1, Payload: make([]byte, 3000)}
		commit(t, s, key, store.Commit{Records: []store.Record{record}, Head: store.Head{Version: version, Seq: version}})
		fmt.Println(version)
	}
}
