//go:build unix

package local

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostVariable makes the child process of a test the local host.
const hostVariable = "LOCAL_TEST_HOST"

// spawned is a local host in a process of its own, or a program that runs one.
type spawned struct {
	command *exec.Cmd
	url     string
	log     chan string // the rest of its log, when the last process that had it open has ended
}

func spawn(t *testing.T, name string, arguments ...string) *spawned {
	t.Helper()
	c := exec.Command(name, arguments...)
	c.Env = append(os.Environ(), hostVariable+"=1", "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA="+filepath.Join(t.TempDir(), "data.db"), "REVEILLE_MODEL=scripted")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }) // what is left of it, where the test failed
	s := &spawned{command: c, log: make(chan string, 1)}
	lines := bufio.NewReader(stderr)
	for s.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("before the host listened: %v", err)
		}
		if _, rest, ok := strings.Cut(line, "msg=listening url="); ok {
			s.url, _, _ = strings.Cut(rest, " ")
		}
	}
	go func() {
		rest, _ := io.ReadAll(lines)
		s.log <- string(rest)
	}()
	return s
}

func (s *spawned) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// TestHostProcess is the host in the child processes of the tests below.
func TestHostProcess(t *testing.T) {
	if os.Getenv(hostVariable) == "" {
		return
	}
	if err := os.Unsetenv(hostVariable); err != nil {
		t.Fatal(err)
	}
	Main(demonstration.Parts, demonstration.Models, demonstration.Web)
	os.Exit(0)
}

func spawnHost(t *testing.T) *spawned {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return spawn(t, binary, "-test.run", "^TestHostProcess$")
}

func TestASignalEndsTheHostInAnOrderlyWay(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			s := spawnHost(t)
			s.signal(t, signal)
			log := <-s.log
			if err := s.command.Wait(); err != nil {
				t.Errorf("the host ended with %v, want status 0", err)
			}
			if !strings.Contains(log, "level=INFO msg=stopping\n") {
				t.Errorf("the log says\n%s", log)
			}
		})
	}
}

func TestASecondSignalEndsTheHostAtOnce(t *testing.T) {
	s := spawnHost(t)
	stream := open(t, request(t, http.MethodPost, s.url+"/v1/ai-sdk/chat", strings.Replace(chat, "echo: hello", "slow: 100", 1)), `"delta":"w1"`)
	s.signal(t, syscall.SIGTERM)
	// The first signal was heard once the host takes no connection any more.
	// What knocks sends no request: one would be told of as open.
	for {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		_ = connection.Close()
	}
	s.signal(t, syscall.SIGTERM)
	_, _ = io.ReadAll(stream)
	log := <-s.log
	err := s.command.Wait()
	exit, _ := err.(*exec.ExitError)
	if exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM { // after the first one alone it ends with status 0
		t.Errorf("the host ended with %v, want by SIGTERM", err)
	}
	if want := `msg="stopping: 1 run active, 1 request open; a second signal ends the host immediately"`; !strings.Contains(log, want) {
		t.Errorf("the log says\n%s\nwant in it %s", log, want)
	}
}

// TestASignalToMakeReachesTheHost: a host that outlived make would keep its file
// and its address.
func TestASignalToMakeReachesTheHost(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not on PATH")
	}
	s := spawn(t, "make", "-C", "../../..", "run")
	s.signal(t, syscall.SIGTERM)
	select {
	case log := <-s.log:
		if !strings.Contains(log, "level=INFO msg=stopping\n") {
			t.Errorf("the log says\n%s", log)
		}
	case <-time.After(10 * time.Second):
		t.Error("the host goes on")
	}
	if err := s.command.Wait(); err == nil {
		t.Error("make ended with status 0, want the signal's")
	}
}
